#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Disassembles the objects of the built libraries and checks properties that no run can: no instruction or symbol
leaks, and headers, maps and libraries name the same functions.

    audit.py BUILD_DIR TOOL_PREFIX

BUILD_DIR has src/libinlay.a and src/libinlay.so, and file/libinlay-file.* if built. TOOL_PREFIX is the prefix of nm,
objdump, readelf and ar ("" or "aarch64-linux-gnu-"). Sanitized builds are not supported: their objects call their run
time.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

BUILD, PREFIX = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Compilers emit calls to these, with -fstack-protector also on a damaged frame. The global offset table is not a call.
ALWAYS = {"memcpy", "memset", "memmove", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
# With _FORTIFY_SOURCE, headers replace a function by one that takes the size of the buffer.
FORTIFIED = re.compile(r"__(\w+)_(?:chk|2)")
STRINGS = {"bcmp", "memchr", "memcmp", "strchr", "strcmp", "strcspn", "strlen", "strncmp", "strspn"}
# Calls of baseline objects to anything else: no locks, no abort, and no system calls except those for huge pages.
# Objects are named after the folder and file of their source.
BASELINE = {
    "base_environment.c.o": {"secure_getenv", "strcmp"},
    "base_name.c.o": STRINGS,
    "base_ticks.c.o": {"timespec_get"},
    "dispatch_cpu.c.o": {"__cpu_model", "__cpu_features2", "__cpu_indicator_init", *STRINGS},
    "dispatch_dispatch.c.o": {"__cpu_model", "__cpu_features2", "__cpu_indicator_init"},
    "base_huge_pages.c.o": {"madvise", "sysconf", "__errno_location", "open", "open64", "read", "close"},
    "base_memory.c.o": {"malloc", "free", "__errno_location"},
    "layer_explain.c.o": {"vsnprintf"},
}
# Objects that run kernels with streaming stores, and so must fence before they return.
FENCED = {"layer_pass.c.o", "positions_rows.c.o"}
# Functions that prefetch: gcc treats one that does nothing else as free of side effects, and would drop its calls.
PREFETCHING = {"tile_tile.c.o": "inlay_tile_next"}
PREFETCH = r"\t(prefetch|prfm|pld)"
# The suffix of SLEEF's functions for each ISA, and instructions that its objects must not contain.
WIDE = r"%[yz]mm|\tv(?!err|erw)[a-z]"
# A fused multiply-add in float would round once instead of twice. Sinusoids are made in double, in ISA folders.
FUSED_FLOAT = r"\tvfn?m(add|sub)\w*[ps]s|\tf(n?m(add|sub)\ts|ml[as]\tv\d+\.[24]s)"
FUSED = r"\tvfn?m(add|sub)|\tf(n?m(add|sub)|ml[as])\b"
GATHER = r"\tvp?gather"
ISAS = {
    "avx2": {"sleef": r"Sleef_\w+avx2$", "never": {"registers wider than AVX2's": r"%zmm|\{%k", "a masked move": r"\tvp?maskmov"}},
    "avx512": {"sleef": r"Sleef_\w+avx512f$", "never": {}},
    "neon": {"sleef": r"Sleef_\w+advsimd$", "never": {}},
    "portable": {"sleef": r"(?!)", "never": {"instructions above the baseline": WIDE, "a fused multiply-add": FUSED}},
}
EVERYWHERE = {"a fused multiply-add in float": FUSED_FLOAT, "a gather instruction": GATHER}

passed = failed = 0


def check(holds, text):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print("FAILED: " + text)


def tool(name, *arguments):
    return subprocess.run([PREFIX + name, *arguments], check=True, capture_output=True, text=True).stdout


def symbols(path, *flags):
    return {line.split()[-1].split("@")[0] for line in tool("nm", *flags, path).splitlines() if len(line.split()) >= 2}


def unfortified(name):
    match = FORTIFIED.fullmatch(name)
    return match[1] if match else name


def prefetches(codes, name):
    """True if a function of an object prefetches, directly or through a function that it calls."""
    seen, left = set(), [name]
    while left:
        seen.add(left[-1])
        code = codes[left.pop()]
        if re.search(PREFETCH, code):
            return True
        left += {callee for callee in re.findall(r"(?:<|R_\S+\s+)(\w+)", code) if callee in codes} - seen
    return False


def audit_object(path, name):
    code = tool("objdump", "-d", "--no-show-raw-insn", path)
    defined = symbols(path, "-g", "--defined-only")
    undefined = {unfortified(symbol) for symbol in symbols(path, "-g", "--undefined-only")}
    isa = name.split("_")[0] if name.split("_")[0] in ISAS else None
    never = dict(EVERYWHERE)
    if isa:
        never.update(ISAS[isa]["never"])
        check(defined == {"inlay_kernels_" + isa}, f"{name} exports {sorted(defined)}, not its table alone")
        strangers = {s for s in undefined - ALWAYS if not re.fullmatch(ISAS[isa]["sleef"], s)}
        check(not strangers, f"{name} calls {sorted(strangers)}")
    else:
        # Objects of link-time optimization have no code yet; ARM's kernels have no streaming stores.
        if name in FENCED and "X86-64" in tool("readelf", "-h", path) and "\tret" in code:
            check("\tsfence" in code, f"{name} does not fence what kernels streamed")
        if name in PREFETCHING and re.search(PREFETCH, code):
            check(prefetches(functions(path), PREFETCHING[name]), f"{PREFETCHING[name]} in {name} does not prefetch")
        never["instructions above the baseline"] = WIDE
        never["a fused multiply-add"] = FUSED
        strangers = {s for s in undefined - ALWAYS - BASELINE.get(name, set()) if not s.startswith("inlay_")}
        check(not strangers, f"{name} calls {sorted(strangers)}")
    check(all(s.startswith("inlay_") for s in defined), f"{name} exports unprefixed {sorted(defined)}")
    for what, pattern in never.items():
        found = re.search(pattern, code)
        check(found is None, f"{name} contains {what}: {found and found.group(0).strip()}")
    sections = tool("readelf", "-SW", path)
    check(not re.search(r"\.(init_array|ctors|fini_array)", sections), f"{name} has a constructor")
    check(".note.GNU-stack" in sections, f"{name} asks for an executable stack")
    return isa, symbols(path, "--defined-only") if isa else set()


# Constructors of every shared library, and the one for __builtin_cpu_supports.
COMPILERS_OWN = {"frame_dummy", "__cpu_indicator_init"}


def constructors(path):
    """Returns the names that .init_array points to, from its relocations."""
    section = re.search(r"\.init_array\s+INIT_ARRAY\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)", tool("readelf", "-SW", path))
    if section is None:
        return set()
    begin, size = int(section.group(1), 16), int(section.group(2), 16)
    names = {}
    for line in tool("nm", path).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] in "tT":
            names[int(fields[0], 16)] = fields[2]
    found = set()
    for line in tool("readelf", "-rW", path).splitlines():
        fields = line.split()
        if len(fields) == 4 and "_RELATIV" in fields[2] and begin <= int(fields[0], 16) < begin + size:
            found.add(names.get(int(fields[3], 16), "an unnamed function"))
    return found


def functions(path):
    """Returns the disassembly of each function with its relocations, by name."""
    parts = re.split(r"^[0-9a-f]+ <([^>]+)>:$", tool("objdump", "-dr", "--no-show-raw-insn", path), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def in_headers(paths):
    """Returns the functions that public headers declare as exported."""
    return {name for path in paths for name in re.findall(r"^INLAY_API\b[^(;]*\b(\w+)\(", open(path).read(), flags=re.M)}


def in_map(path):
    """Returns the version of each symbol in a version script. A pattern instead of a name is a failure."""
    versions = {}
    for version, body in re.findall(r"([\w.]+) \{([^{}]*)\}", open(path).read()):
        names = re.search(r"global:(.*?)(local:|$)", body, flags=re.S).group(1)
        for name in re.findall(r"[^\s;]+", names):
            check(re.fullmatch(r"\w+", name), f"{path} has a pattern, {name}, instead of names")
            versions[name] = version
    return versions


def audit_symbols(headers, version_script, library):
    """Headers and map name the same functions. The shared library exports exactly these, with the map's versions. The
    static library defines them, and no other global symbol without their prefix."""
    declared = in_headers(headers)
    versions = in_map(os.path.join(SOURCE, version_script))
    check(len(declared) > 10, f"headers of {library} declare next to nothing")
    check(declared <= set(versions), f"{version_script} lacks {sorted(declared - set(versions))}")
    check(set(versions) <= declared, f"no header declares {sorted(set(versions) - declared)} of {version_script}")
    exported = {}
    for line in tool("nm", "-D", "--defined-only", os.path.join(BUILD, library + ".so")).splitlines():
        kind, symbol = line.split()[-2:]
        if kind != "A":  # the versions themselves
            name, _, version = symbol.partition("@@")
            exported[name] = version
    wrong = {name for name in exported | versions if exported.get(name) != versions.get(name)}
    check(not wrong, f"{library}.so and {version_script} differ in {sorted(wrong)}")
    defined = symbols(os.path.join(BUILD, library + ".a"), "-g", "--defined-only")
    check(declared <= defined, f"{library}.a lacks {sorted(declared - defined)}")
    strangers = {name for name in defined if not name.startswith("inlay_")}
    check(not strangers, f"{library}.a exports unprefixed {sorted(strangers)}")


def audit_shared(path, isa_functions):
    """isa_functions: names, including local ones, that objects of ISA folders define. With link-time optimization, only
    the shared library shows the rest."""
    code = functions(path)
    leaks = sorted(name for name, text in code.items() if name not in isa_functions and re.search(WIDE, text))
    check(not leaks, f"wide instructions leaked into {leaks}")
    dynamic = tool("readelf", "-dW", path)
    check(" IFUNC " not in tool("readelf", "-sW", path), "the shared library has an ifunc")
    check("libinlay.so.0" in dynamic, "the soname is not libinlay.so.0")
    check(re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic), "symbols are bound lazily, which no signal handler survives")
    check(constructors(path) <= COMPILERS_OWN, f"the shared library has constructors {sorted(constructors(path))}")
    stack = re.search(r"GNU_STACK.*", tool("readelf", "-lW", path))
    check(stack and "RWE" not in stack.group(0), "the shared library asks for an executable stack")


def main():
    archive = os.path.abspath(os.path.join(BUILD, "src", "libinlay.a"))
    with tempfile.TemporaryDirectory() as folder:
        members = tool("ar", "t", archive).split()
        check(len(members) == len(set(members)), "two objects of one name")
        absent = (FENCED | set(BASELINE)) - set(members)
        check(not absent, f"audit.py speaks of {sorted(absent)}, which are no objects of the library")
        subprocess.run([PREFIX + "ar", "x", archive], check=True, cwd=folder)
        audited = [audit_object(os.path.join(folder, os.path.basename(m)), os.path.basename(m)) for m in members]
    audit_shared(os.path.join(BUILD, "src", "libinlay.so"), set().union(*(names for _, names in audited)))
    headers = set(glob.glob(os.path.join(SOURCE, "include", "inlay", "*.h")))
    file_headers = {os.path.join(SOURCE, "include", "inlay", "file.h")}
    audit_symbols(headers - file_headers, "src/inlay.map", "src/libinlay")
    if os.path.exists(os.path.join(BUILD, "file", "libinlay-file.so")):
        audit_symbols(file_headers, "file/file.map", "file/libinlay-file")
    isas = [isa for isa, _ in audited if isa]
    print(f"audit: {len(members)} objects, ISAs {' '.join(isas) or 'none'}: {passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
