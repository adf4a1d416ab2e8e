#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Installs a finished build into an empty folder and uses it like a user: pkg-config, CMake, a Meson subproject.

Run as `test_install.py BUILD_DIR SOURCE_DIR`, or as `test_install.py --installed PREFIX SOURCE_DIR` for files from a
package manager. Uses CC and CXX from the environment, or cc and c++. Checks the installed files and symbols, then
builds copies of examples/ and compares their output with the *.expected files here. Prints a line per check; the exit
status is 1 if any failed.
"""

import argparse
import difflib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
STRICT_C99 = ["-std=c99", *STRICT]
COMMAND_TIMEOUT_S = 120
MESSAGE_LINES = 40
# The headers of each library, and the version of its symbols.
LIBRARIES = {
    "inlay": (("base.h", "inlay.h", "layer.h", "ngram.h", "positions.h", "rotary.h", "table.h"), "INLAY_0"),
    "inlay-file": (("file.h",), "INLAY_FILE_0"),
}


class Failure(Exception):
    """A failed check, with the reason."""


class Skip(Exception):
    """A check that can't run here, with the reason."""


class Report:
    """Runs checks; prints and counts their results."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, action, *arguments):
        """Returns true if `action(*arguments)` raised no exception."""
        try:
            action(*arguments)
        except Skip as why:
            self.skipped += 1
            print(f"skipped - {name} ({why})", flush=True)
            return False
        except Exception as why:  # pylint: disable=broad-except
            self.failed += 1
            kind = "" if isinstance(why, Failure) else f"{type(why).__name__}: "
            lines = str(why).rstrip().splitlines()
            if len(lines) > MESSAGE_LINES:
                lines[1 : 1 - MESSAGE_LINES] = ["..."]
            print(f"FAILED - {name}: {kind}" + "\n    ".join(lines), flush=True)
            return False
        self.passed += 1
        print(f"ok - {name}", flush=True)
        return True


def run(*command, env=None, seconds=COMMAND_TIMEOUT_S):
    """Returns stdout and stderr of a command that must succeed."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode != 0:
        raise Failure(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Skip(f"no {program}")


def expect_same(what, found, expected):
    """Compares two texts or two lists of lines."""
    if found != expected:
        lines = [text.splitlines() if isinstance(text, str) else text for text in (expected, found)]
        differences = [line for line in difflib.ndiff(*lines) if not line.startswith("?")]
        raise Failure("\n".join([f"{what} differ", *differences]))


def machine_of(elf):
    """Returns the bytes of an ELF header that identify the machine: class, byte order, e_machine."""
    with open(elf, "rb") as file:
        header = file.read(20)
    return header[4:6] + header[18:20]


class Build:
    """The build under test, as Meson describes it."""

    zsh_folder = "site-functions"

    def __init__(self, build_dir, source_dir):
        self.dir = build_dir
        self.source = source_dir
        options = {option["name"]: option["value"] for option in self.introspect("buildoptions")}
        self.version = self.introspect("projectinfo")["version"]
        self.prefix = pathlib.PurePath(options["prefix"])
        self.folders = {name: self.prefix / options[name] for name in ("bindir", "datadir", "includedir", "libdir", "mandir")}
        installed = [target for target in self.introspect("targets") if target["installed"]]
        self.has_tool = any(target["type"] == "executable" for target in installed)
        self.libraries = [name for name in LIBRARIES if any(target["name"] == name for target in installed)]
        instrumentation = {name: options.get(name, False) for name in ("b_sanitize", "b_coverage")}
        self.needs_sleef = any(library["name"] == "sleef" for library in self.introspect("dependencies"))
        self.instrumented = [f"{name}={value}" for name, value in instrumentation.items() if value not in ("none", [], False)]

    def introspect(self, what):
        with open(self.dir / "meson-info" / f"intro-{what}.json", encoding="utf-8") as file:
            return json.load(file)


class System:
    """A system prefix, as described by pkg-config. Its files can't be moved."""

    # Patterns of inlay's files in a shared prefix.
    patterns = {
        "bindir": ["inlay*"],
        "datadir": ["bash-completion/completions/inlay", "fish/*/inlay.fish", "zsh/*/_inlay"],
        "includedir": ["inlay/*"],
        "libdir": ["cmake/inlay/*", "libinlay*", "pkgconfig/inlay*"],
        "mandir": ["man1/inlay*"],
    }
    instrumented = []
    has_tool = True
    needs_sleef = False
    zsh_folder = "vendor-completions"  # Debian's, for packages
    libraries = list(LIBRARIES)

    def __init__(self, prefix, source_dir):
        need("pkg-config")
        self.source = source_dir
        self.prefix = prefix
        self.version = run("pkg-config", "--modversion", "inlay")[0].strip()
        self.folders = {"bindir": prefix / "bin", "datadir": prefix / "share", "mandir": prefix / "share" / "man"}
        for name in ("includedir", "libdir"):
            self.folders[name] = pathlib.Path(run("pkg-config", f"--variable={name}", "inlay")[0].strip())


class Installed:
    """The build installed into its own folder, or a system's prefix with the root as its folder."""

    def __init__(self, build, destdir):
        self.build = build
        self.destdir = destdir
        self.prefix = self.inside(build.prefix)
        self.libdir = self.inside(build.folders["libdir"])
        self.shared = self.libdir / f"libinlay.so.{build.version}"
        self.movable = isinstance(build, Build)

    def inside(self, path):
        return self.destdir / path.relative_to(path.anchor)

    def install(self):
        run("meson", "install", "-C", self.build.dir, "--no-rebuild", "--destdir", self.destdir)

    def pkg_config(self):
        """Returns the command and its environment. The prefix is DESTDIR plus the one in the .pc file."""
        path = [str(self.libdir / "pkgconfig")] + os.environ.get("PKG_CONFIG_PATH", "").split(os.pathsep)
        return ["pkg-config", f"--define-variable=prefix={self.prefix}"], {"PKG_CONFIG_PATH": os.pathsep.join(path)}

    def flags(self, *arguments, library="inlay"):
        """Returns the flags that pkg-config prints for a library."""
        need("pkg-config")
        command, env = self.pkg_config()
        out, _ = run(*command, *arguments, library, env=env)
        return shlex.split(out)

    def headers(self, library="inlay"):
        """The text of a library's installed headers."""
        folder = self.inside(self.build.folders["includedir"]) / "inlay"
        return "\n".join((folder / name).read_text(encoding="utf-8") for name in LIBRARIES[library][0])

    def files(self):
        """Returns the paths of inlay's files, man pages without .gz."""
        if self.movable:
            return {path for path in self.destdir.rglob("*") if path.is_symlink() or not path.is_dir()}
        patterns = System.patterns.items()
        found = {path for folder, names in patterns for name in names for path in self.build.folders[folder].glob(name)}
        return {path.with_suffix("") if path.suffix == ".gz" else path for path in found}

    # ---- The files and the symbols ----

    def check_tree(self):
        folders = self.build.folders
        expected = set()
        for library in self.build.libraries:
            expected |= {folders["includedir"] / "inlay" / name for name in LIBRARIES[library][0]}
            ends = (".so", ".so.0", f".so.{self.build.version}", ".a")
            expected |= {folders["libdir"] / f"lib{library}{end}" for end in ends}
            expected |= {folders["libdir"] / "pkgconfig" / f"{library}.pc"}
        cmake = folders["libdir"] / "cmake" / "inlay"
        expected |= {cmake / "inlay-config.cmake", cmake / "inlay-config-version.cmake"}
        if self.build.has_tool:
            expected |= {folders["bindir"] / "inlay", folders["mandir"] / "man1" / "inlay.1"}
            scripts = ("bash-completion/completions/inlay", "fish/vendor_completions.d/inlay.fish",
                       f"zsh/{self.build.zsh_folder}/_inlay")
            expected |= {folders["datadir"] / script for script in scripts}
        expected = {self.inside(path) for path in expected}
        found = self.files()
        wrong = [f"missing: {path.relative_to(self.destdir)}" for path in sorted(expected - found)]
        wrong += [f"not expected: {path.relative_to(self.destdir)}" for path in sorted(found - expected)]
        if wrong:
            raise Failure("\n".join(wrong))

    def check_links(self):
        for library in self.build.libraries:
            for link, target in ((".so", ".so.0"), (".so.0", f".so.{self.build.version}")):
                expect_same(f"targets of {library}", os.readlink(self.libdir / f"lib{library}{link}"), f"lib{library}{target}")

    def check_soname(self):
        need("readelf")
        for library in self.build.libraries:
            out, _ = run("readelf", "--dynamic", "--wide", self.libdir / f"lib{library}.so")
            expect_same("sonames", re.findall(r"\(SONAME\).*\[(.*)\]", out), [f"lib{library}.so.0"])

    def check_symbols(self):
        """The exported symbols are those in the headers, with their versions, and those that Debian lists."""
        need("readelf")
        for library in self.build.libraries:
            version = LIBRARIES[library][1]
            declared = set(re.findall(r"^INLAY_API [\w *]+\b(inlay_\w+)\(", self.headers(library), re.MULTILINE))
            out, _ = run("readelf", "--dyn-syms", "--wide", self.libdir / f"lib{library}.so")
            # Num: Value Size Type Bind Vis Ndx Name; the version itself is an absolute symbol.
            rows = [line.split() for line in out.splitlines() if re.match(r"\s*\d+:", line)]
            exported = {row[7] for row in rows if len(row) >= 8 and row[6] != "UND" and row[4] != "LOCAL"}
            expected = {f"{name}@@{version}" for name in declared} | {version}
            expect_same("exports", sorted(exported), sorted(expected))
            debian = self.build.source / "debian"  # of a source package; the tree keeps it in packaging/
            folder = debian if debian.exists() else self.build.source / "packaging" / "debian"
            path = folder / f"lib{library}0.symbols"
            listed = re.findall(r"^ (\S+)@\S+ ", path.read_text(encoding="ascii"), re.MULTILINE)
            expect_same(f"the headers and {path.name}", listed, sorted(declared | {version}))

    def check_version(self):
        numbers = re.findall(r"#define INLAY_VERSION_\w+ (\d+)", self.headers())
        expect_same("the headers' and the build's version", ".".join(numbers), self.build.version)
        for library in self.build.libraries:
            found = self.flags("--modversion", library=library)
            expect_same("pkg-config's and the build's version", found, [self.build.version])

    def check_runs(self):
        """Skips the programs if a plain compiler can't use the installed files, or its programs can't run here."""
        if self.build.instrumented:
            raise Skip("the library is built with " + ", ".join(self.build.instrumented))
        if any(self.build.prefix not in self.build.folders[name].parents for name in ("includedir", "libdir")):
            raise Skip("a folder outside of the prefix cannot be moved")
        if machine_of(self.shared) != machine_of(sys.executable):
            raise Skip("the library is for another machine")


def gpt2(tokens, places):
    """Returns a .safetensors file with the tables of a GPT-2."""
    header, data = {}, b""
    for name, rows in ("wte.weight", tokens), ("wpe.weight", places):
        elements = struct.pack(f"<{len(rows) * len(rows[0])}f", *(value for row in rows for value in row))
        header[name] = {"dtype": "F32", "shape": [len(rows), len(rows[0])],
                        "data_offsets": [len(data), len(data) + len(elements)]}
        data += elements
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def connect(path):
    """Connects to a server that is just starting."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(COMMAND_TIMEOUT_S)
    for _ in range(COMMAND_TIMEOUT_S * 10):
        try:
            client.connect(str(path))
            return client
        except OSError:
            time.sleep(0.1)
    raise Failure(f"nothing listens at {path}")


def answers(client, count):
    """Returns the lines of examples/files/server.c and the rows after them; of errors only the first two words."""
    found = []
    with client.makefile("rb") as stream:
        while len(found) < count:
            line = stream.readline().decode().rstrip("\n")
            words = line.split()
            found.append(" ".join(words[:3]) if words[:1] == ["ERROR"] else line)
            if words[:1] != ["OK"]:
                continue
            rows, dim = int(words[1]), int(words[2])
            found += [list(struct.unpack(f"<{dim}f", stream.read(4 * dim))) for _ in range(rows)]
    return found


class Programs:
    """Copies of the examples, built in all documented ways."""

    def __init__(self, installed, folder):
        self.installed = installed
        self.folder = folder
        self.examples = folder / "examples"
        shutil.copytree(installed.build.source / "examples", self.examples)

    def check_output(self, name, program, static=None, env=None):
        """The program prints the expected lines. `static`: whether libinlay must be linked into it."""
        stdout, stderr = run(program, env=env)
        expect_same("lines printed", stdout, (HERE / f"{name}.expected").read_text(encoding="utf-8"))
        if name == "server" and f"inlay {self.installed.build.version}," not in stderr:
            raise Failure(f"inlay_version() is not {self.installed.build.version}: {stderr}")
        if static is not None and shutil.which("readelf"):
            out, _ = run("readelf", "--dynamic", "--wide", program)
            needed = re.findall(r"\(NEEDED\).*\[(libinlay.*)\]", out)
            expect_same("shared libraries needed", needed, [] if static else ["libinlay.so.0"])

    def need_to_link(self, static):
        need(shlex.split(CC)[0])
        if static and b"BC\xc0\xde" in (self.installed.libdir / "libinlay.a").read_bytes():
            raise Skip("libinlay.a holds LLVM bitcode, by b_lto, which a plain linker cannot read")

    def shared_path(self):
        return {"LD_LIBRARY_PATH": str(self.installed.libdir)}

    # ---- pkg-config ----

    def check_compiler(self, name, static):
        need("pkg-config")
        self.need_to_link(static)
        program = self.folder / f"{name}-{'static' if static else 'shared'}"
        libs = self.installed.flags("--libs", *(["--static"] if static else []))
        if static:
            at = libs.index("-linlay")
            libs[at : at + 1] = ["-Wl,-Bstatic", "-linlay", "-Wl,-Bdynamic"]
        cflags = STRICT_C99 + (["-pthread"] if name == "server" else []) + self.installed.flags("--cflags")
        run(*shlex.split(CC), *cflags, self.examples / f"{name}.c", *libs, "-o", program)
        self.check_output(name, program, static, None if static else self.shared_path())

    def check_makefile(self, static):
        need("make", "pkg-config")
        self.need_to_link(static)
        folder = self.examples / "pkg-config"
        command, env = self.installed.pkg_config()
        arguments = [f"CC={CC}", f"PKG_CONFIG={shlex.join(command)}"] + (["STATIC=1"] if static else [])
        run("make", "-C", folder, "clean", *arguments, env=env)
        run("make", "-C", folder, *arguments, env=env)
        self.check_output("minimal", folder / "minimal", static, None if static else self.shared_path())

    # ---- Executors ----

    def check_executor(self, source, compiler, *flags):
        """A program of examples/executors gives the same bits. Skipped if its thread library is missing."""
        need("pkg-config", shlex.split(compiler)[0])
        header = {"pthreadpool.c": "pthreadpool.h", "openmp.c": "omp.h", "thread_pool.cc": "thread"}[source]
        probe = self.folder / f"probe{pathlib.Path(source).suffix}"
        probe.write_text(f"#include <{header}>\nint main(void)\n{{\n    return 0;\n}}\n", encoding="ascii")
        try:
            run(*shlex.split(compiler), *flags, probe, "-o", self.folder / "probe")
        except Failure:
            raise Skip(f"{compiler} finds no {header}, or nothing to link for it") from None
        program = self.folder / source.replace(".", "-")
        # A library must come after the objects that use it.
        libraries = [flag for flag in flags if flag.startswith("-l")]
        options = [flag for flag in flags if flag not in libraries]
        run(*shlex.split(compiler), *options, *STRICT, "-O2", *self.installed.flags("--cflags"),
            self.examples / "executors" / source, *self.installed.flags("--libs"), *libraries, "-o", program)
        stdout, _ = run(program, env=self.shared_path())
        expect_same("lines printed", stdout, f"{source.split('.', maxsplit=1)[0]}: the same bits as on one thread\n")

    # ---- Layers of models, and shards ----

    def check_layer(self, name):
        """A program of examples/layers agrees with its own definition, on the best ISA and on scalar."""
        need("pkg-config", shlex.split(CC)[0])
        program = self.folder / f"layer-{name}"
        run(*shlex.split(CC), *STRICT_C99, "-O2", *self.installed.flags("--cflags"),
            self.examples / "layers" / f"{name}.c", *self.installed.flags("--libs"), "-lm", "-o", program)
        for isa in ({}, {"INLAY_ISA": "scalar"}):
            stdout, _ = run(program, env={**self.shared_path(), **isa})
            wrong = [line for line in stdout.splitlines() if not line.endswith(": as its definition")]
            if wrong or not stdout:
                raise Failure("\n".join(["not as defined", *wrong]))

    # ---- Model files ----

    def check_file_server(self):
        """examples/files/server.c answers with rows of a GPT-2, reports errors to clients, and ends at SIGTERM."""
        need("pkg-config", shlex.split(CC)[0])
        if "inlay-file" not in self.installed.build.libraries:
            raise Skip("libinlay-file is not built")
        program, model, path = (self.folder / name for name in ("file-server", "model.safetensors", "socket"))
        run(*shlex.split(CC), *STRICT_C99, "-O2", "-pthread", *self.installed.flags("--cflags", library="inlay-file"),
            self.examples / "files" / "server.c", *self.installed.flags("--libs", library="inlay-file"), "-o", program)
        tokens = [[float(row * 10 + column) for column in range(4)] for row in range(5)]
        places = [[row / 4 + column for column in range(4)] for row in range(3)]
        model.write_bytes(gpt2(tokens, places))
        sums = [[a + b for a, b in zip(tokens[id], places[at])] for at, id in enumerate((4, 0, 4))]
        expected = ["OK 3 4", *sums, "OK 0 4", "ERROR an id", "OK 1 4", sums[0], "ERROR a line", "ERROR a position", "gone"]
        environment = {**os.environ, **self.shared_path()}
        with subprocess.Popen([program, model, path], env=environment, stderr=subprocess.PIPE) as server:
            try:
                # Two clients at once; the second disconnects within a line.
                first, second = connect(path), connect(path)
                second.sendall(b"1 2")
                first.sendall(b"4 0 4\n\n1 5\n4\nx\n1 1 1 1\n")
                found = answers(first, len(expected) - 1)
                second.close()
                last = connect(path)
                server.terminate()
                expect_same("answers", [str(line) for line in found + [last.recv(1).decode() or "gone"]],
                            [str(line) for line in expected])
                first.close()
                last.close()
                report = server.communicate(timeout=COMMAND_TIMEOUT_S)[1].decode()
            finally:
                server.kill()
        if server.returncode != 0 or path.exists() or "wte.weight" not in report:
            raise Failure(f"the server ended with {server.returncode}: {report}")
        model.write_bytes(gpt2(tokens, places)[:-1])
        done = subprocess.run([program, model, path], env=environment, stderr=subprocess.PIPE, check=False,
                              timeout=COMMAND_TIMEOUT_S)
        if done.returncode != 1 or b"server: " not in done.stderr or b"model.safetensors" not in done.stderr:
            raise Failure(f"a torn model: exit status {done.returncode}: {done.stderr}")

    def check_mpi(self, ranks):
        """The sum of the shards of all ranks equals the layer."""
        need("pkg-config", "mpicc", "mpirun")
        program = self.folder / "sharded"
        run("mpicc", *STRICT_C99, "-O2", *self.installed.flags("--cflags"), self.examples / "mpi" / "sharded.c",
            *self.installed.flags("--libs"), "-o", program)
        version, _ = run("mpirun", "--version")
        options = []
        if "Open MPI" in version or "OpenRTE" in version:
            options = ["--oversubscribe"] + (["--allow-run-as-root"] if os.geteuid() == 0 else [])
        # Only on this machine, so Open MPI needs no ssh.
        env = {**self.shared_path(), "OMPI_MCA_plm": "isolated"}
        stdout, _ = run("mpirun", *options, "-np", ranks, program, env=env)
        expect_same("lines printed", stdout, f"mpi, {ranks} ranks: the same bits as one layer\n")

    # ---- CMake ----

    def cmake(self, source, build, prefix):
        need("cmake", shlex.split(CC)[0])
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        paths = [str(prefix)]
        libdir = self.installed.libdir.relative_to(self.installed.prefix)
        if libdir.parts[0] != "lib":  # e.g. lib64, where CMake doesn't look on every system
            paths.append(str(prefix / libdir / "cmake" / "inlay"))
        arguments = [f"-DCMAKE_PREFIX_PATH={';'.join(paths)}", "-DCMAKE_BUILD_TYPE=Release"]
        return run("cmake", *generator, "-S", source, "-B", build, *arguments, env={"CC": CC})

    def moved_without(self, *patterns):
        """Copies the installed prefix, without some of its libraries. A system's files stay in place."""
        if not self.installed.movable:
            if patterns:
                raise Skip("the files of a system cannot be moved")
            return self.installed.prefix
        moved = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "moved"
        shutil.copytree(self.installed.prefix, moved, symlinks=True)
        libdir = moved / self.installed.libdir.relative_to(self.installed.prefix)
        for pattern in patterns:
            for path in libdir.glob(pattern):
                path.unlink()
        return moved

    def check_cmake(self, target, static, without=()):
        """Builds the example with `target`, in a moved tree without the libraries `without`."""
        need("cmake")
        self.need_to_link(static)
        prefix = self.moved_without(*without)
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copytree(self.examples, work / "examples")
        lists = work / "examples" / "cmake" / "CMakeLists.txt"
        text = lists.read_text(encoding="utf-8")
        if "PRIVATE inlay::inlay)" not in text:
            raise Failure("the example no longer links inlay::inlay")
        lists.write_text(text.replace("PRIVATE inlay::inlay)", f"PRIVATE {target})"), encoding="utf-8")
        self.cmake(lists.parent, work / "build", prefix)
        cache = (work / "build" / "CMakeCache.txt").read_text(encoding="utf-8")
        if not re.search(f"^inlay_DIR:PATH={re.escape(str(prefix))}/", cache, re.MULTILINE):
            raise Failure("find_package(inlay) found another inlay than the installed one")
        run("cmake", "--build", work / "build")
        self.check_output("minimal", work / "build" / "minimal", static)

    def check_cmake_file(self, target):
        """A program that uses libinlay-file needs only one target."""
        if "inlay-file" not in self.installed.build.libraries:
            raise Skip("libinlay-file is not built")
        self.need_to_link(target.endswith("_static"))
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (work / "main.c").write_text(
            '#include <inlay/file.h>\n#include <stdio.h>\n'
            'int main(void)\n{\n'
            '    inlay_file *file;\n    inlay_file_error error;\n'
            '    int status = inlay_file_open("/nonexistent", NULL, &file, &error);\n'
            '    printf("%s: %d\\n", inlay_version(), status == INLAY_FILE_OK);\n    return 0;\n}\n',
            encoding="ascii")
        (work / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.7)\nproject(opened C)\nfind_package(inlay REQUIRED COMPONENTS file)\n"
            f"add_executable(opened main.c)\ntarget_link_libraries(opened PRIVATE {target})\n", encoding="ascii")
        self.cmake(work, work / "build", self.moved_without())
        run("cmake", "--build", work / "build")
        expect_same("lines printed", run(work / "build" / "opened")[0], f"{self.installed.build.version}: 0\n")

    def check_cmake_answers(self):
        """find_package accepts the right versions, and defines the targets of the installed libraries."""
        need("cmake", shlex.split(CC)[0])
        major, minor, patch = (int(number) for number in self.installed.build.version.split("."))
        before = [(f"{major}.{minor - 1}", major > 0)] if minor > 0 else []
        versions = before + [
            ("", True),
            (f"{major}.{minor}", True),
            (f"{major}.{minor}.{patch}", True),
            (f"{major}.{minor}.{patch} EXACT", True),
            (f"{major}.{minor}.{patch + 1}", False),
            (f"{major}.{minor + 1}", False),
            (f"{major + 1}.0", False),
            (f"{major}.{minor}...<{major}.{minor + 1}", True),
            (f"{major}.{minor + 1}...{major}.{minor + 2}", False),
        ]
        project = ["cmake_minimum_required(VERSION 3.7)", "project(answers C)"]
        expected = []
        for version, accepted in versions:
            project += ["unset(inlay_DIR CACHE)", f"find_package(inlay {version} QUIET CONFIG)"]
            project.append(f'message("result: [{version}] found ${{inlay_FOUND}}")')
            expected.append(f"result: [{version}] found {int(accepted)}")
        project += ["unset(inlay_DIR CACHE)", "set(CMAKE_SIZEOF_VOID_P 2)", "find_package(inlay QUIET CONFIG)"]
        project.append('message("result: with 16-bit pointers found ${inlay_FOUND}")')
        expected.append("result: with 16-bit pointers found 0")
        expect_same("versions", self.cmake_messages(project, self.installed.prefix), expected)

        libraries = self.installed.build.libraries
        shared = ["target inlay::inlay"] + (["target inlay::file"] if "inlay-file" in libraries else [])
        static = [f"{target}_static" for target in shared]
        project = ["cmake_minimum_required(VERSION 3.7)", "project(answers C)", "find_package(inlay QUIET CONFIG)"]
        project.append('message("result: found ${inlay_FOUND}")')
        for target in "inlay", "file", "inlay_static", "file_static":
            project += [f"if(TARGET inlay::{target})", f'  message("result: target inlay::{target}")', "endif()"]
        for without, answers in (
            ((), ["found 1", *shared, *static]),
            (("*.a",), ["found 1", *shared]),
            (("*.so*",), ["found 1", *shared, *static]),
            (("*.a", "*.so*"), ["found 0"]),
        ):
            if without and not self.installed.movable:
                continue
            messages = self.cmake_messages(project, self.moved_without(*without))
            expect_same(f"targets without {without}", messages, [f"result: {answer}" for answer in answers])

        project = ["cmake_minimum_required(VERSION 3.7)", "project(answers C)", "find_package(inlay QUIET CONFIG)"]
        for library in libraries:
            project.append(f"get_target_property(soname inlay::{library.rpartition('-')[2]} IMPORTED_SONAME)")
            project.append('message("result: ${soname}")')
        expected = [f"result: lib{library}.so.0" for library in libraries]
        expect_same("sonames", self.cmake_messages(project, self.installed.prefix), expected)

    def check_cmake_components(self):
        """Unknown or missing components are errors with a clear message, unless they are optional."""
        unknown = "inlay has no component nonsense: its components are inlay and file"
        has_file = "inlay-file" in self.installed.build.libraries
        cases = [
            ("COMPONENTS inlay", "1", ""),
            ("COMPONENTS nonsense", "0", unknown),
            ("COMPONENTS inlay nonsense", "0", unknown),
            ("COMPONENTS inlay_static", "0", unknown.replace("nonsense", "inlay_static")),
            ("OPTIONAL_COMPONENTS nonsense", "1", ""),
            ("COMPONENTS inlay OPTIONAL_COMPONENTS file nonsense", f"1, file {str(has_file).upper()}, nonsense FALSE", ""),
        ]
        cases += [("COMPONENTS file", "1, file TRUE", "")] if has_file else []
        self.expect_components(self.installed.prefix, cases)
        if self.installed.movable:
            moved = self.moved_without("libinlay-file*")
            absent = f"the library of the component file is not in {moved}"
            self.expect_components(moved, [("COMPONENTS file", "0", absent), ("OPTIONAL_COMPONENTS file", "1, file FALSE", "")])

    def expect_components(self, prefix, cases):
        for words, found, why in cases:
            messages = self.cmake_messages([
                "cmake_minimum_required(VERSION 3.7)", "project(answers C)", f"find_package(inlay CONFIG {words})",
                'message("result: ${inlay_FOUND}, file ${inlay_file_FOUND}, nonsense ${inlay_nonsense_FOUND}")',
            ], prefix, also=why)
            expect_same(words, [message[: len("result: ") + len(found)] for message in messages], [f"result: {found}"])

    def cmake_messages(self, project, prefix, also=""):
        """Returns the results that a project prints. CMake must also print `also`."""
        work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (work / "CMakeLists.txt").write_text("\n".join(project) + "\n", encoding="utf-8")
        _, messages = self.cmake(work, work / "build", prefix)
        if also not in re.sub(r"\s+", " ", messages):
            raise Failure(f"CMake does not say: {also}\n{messages}")
        return [line for line in messages.splitlines() if line.startswith("result: ")]

    # ---- Meson ----

    def targets(self, source, *options, env=None):
        """Configures `source`; returns the build folder, and the names and folders of the targets of inlay."""
        need("meson", "ninja", "pkg-config", shlex.split(CC)[0])
        build = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        run("meson", "setup", build, source, "--wrap-mode=nodownload", *options, env=env)
        with open(build / "meson-info" / "intro-targets.json", encoding="utf-8") as file:
            targets = [target for target in json.load(file) if target["build_by_default"]]
        places = [(target["name"], pathlib.Path(target["defined_in"]).resolve().parent) for target in targets]
        inlay = self.installed.build.source
        return build, {(name, str(at.relative_to(inlay))) for name, at in places if at.is_relative_to(inlay)}

    def check_subproject(self):
        """A subproject is only the library, plus the file library if enabled."""
        source = self.examples / "meson-subproject"
        os.symlink(self.installed.build.source, source / "subprojects" / "inlay")
        enabled = ["--auto-features=enabled", *(f"-Dinlay:{name}=enabled" for name in ("tool", "tests", "bench"))]
        for options, folders in (enabled, ["file", "src"]), (["-Dinlay:tool=enabled"], ["src"]), ([], ["src"]):
            build, found = self.targets(source, "--force-fallback-for=inlay", *options)
            expect_same("folders of targets", sorted({folder for _, folder in found}), folders)
        run("ninja", "-C", build, seconds=4 * COMMAND_TIMEOUT_S)  # it compiles the library
        self.check_output("minimal", build / "minimal", static=False)

    def check_cmake_source(self):
        """A CMake project builds the library from source, with the same functions."""
        need("cmake", shlex.split(CC)[0])
        source, build = self.installed.build.source, pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", f"-DINLAY_SOURCE={source}"]
        run("cmake", "-S", self.examples / "cmake-source", "-B", build, *options, env={"CC": CC})
        run("cmake", "--build", build, "--parallel", str(os.cpu_count()), seconds=4 * COMMAND_TIMEOUT_S)
        self.check_output("minimal", build / "minimal", static=False)
        listed, _ = run("nm", "--dynamic", "--defined-only", "--format=just-symbols", build / "inlay" / "libinlay.so")
        exported = sorted({name.split("@")[0] for name in listed.split()} - {"INLAY_0"})
        wanted = sorted(re.findall(r"\binlay_\w+", (source / "src" / "inlay.map").read_text(encoding="ascii")))
        expect_same("exported functions", exported, wanted)

    # ---- User builds ----

    def check_default_build(self):
        """`meson setup build` makes the libraries and the command, which has the same name as the library."""
        _, found = self.targets(self.installed.build.source)
        named = sorted({f"{folder}/{name}" for name, folder in found if name in ("inlay", "inlay-file") or folder != "src"})
        expect_same("targets", named, ["file/inlay-file", "src/inlay", "tools/inlay", "tools/inlay_tool_readers"])

    def check_no_sleef(self):
        """Without SLEEF, the error names the package and the option, like the README."""
        if not self.installed.build.needs_sleef:
            raise Skip("the kernels of this build do not call SLEEF")
        try:
            self.targets(self.installed.build.source, env={"PKG_CONFIG_LIBDIR": "/nonexistent", "PKG_CONFIG_PATH": ""})
        except Failure as error:
            said = re.sub(r"\s+", " ", str(error))
        else:
            raise Failure("Meson finds a SLEEF without pkg-config")
        readme = (self.installed.build.source / "README.md").read_text(encoding="utf-8")
        for word in "libsleef-dev", "-Dsleef=disabled":
            if word not in said or word not in readme:
                raise Failure(f"the README and this message do not both name {word}: {said[-500:]}")


def check_tool(installed, source):
    """The installed command reproduces the tensor of the tutorial for its two sentences."""
    if not installed.build.has_tool:
        raise Skip("the tool is not built")
    data = (source / "tests" / "data" / "keras-tutorial-part-2.txt").read_text(encoding="ascii").splitlines()
    texts = [part for line in data if line.startswith("sentence ") for part in ("--text", line.split(" ", 1)[1])]
    wanted = [float(value) for line in data if line.startswith("out ") for value in line.split()[1:]]
    tool = installed.inside(installed.build.folders["bindir"]) / "inlay"
    out, _ = run(tool, "embed", *texts, "--length", "5", "--max-tokens", "8", "--dim", "6",
                 env={"LD_LIBRARY_PATH": str(installed.libdir)})
    found = [float(value) for value in re.findall(r"-?\d+\.\d*", out)]
    if len(wanted) != 60 or len(found) != 60 or max(abs(a - b) for a, b in zip(found, wanted)) > 1e-6:
        raise Failure(f"not the tutorial's tensor:\n{out}")


def check_programs(report, installed, folder):
    programs = Programs(installed, folder)
    for static in (False, True):
        kind = "static" if static else "shared"
        for name in ("minimal", "server"):
            report.check(f"pkg-config, {kind}: {name}.c as strict C99", programs.check_compiler, name, static)
        report.check(f"pkg-config, {kind}: the Makefile", programs.check_makefile, static)
    report.check("an executor: pthreadpool", programs.check_executor, "pthreadpool.c", CC, "-std=c99", "-lpthreadpool")
    report.check("an executor: OpenMP", programs.check_executor, "openmp.c", CC, "-std=c99", "-fopenmp")
    report.check("an executor: C++17", programs.check_executor, "thread_pool.cc", CXX, "-std=c++17", "-pthread")
    for name in sorted(path.stem for path in (programs.examples / "layers").glob("*.c")):
        report.check(f"an input layer: {name}.c", programs.check_layer, name)
    report.check("a server of a model file", programs.check_file_server)
    for ranks in (2, 4):
        report.check(f"shards on {ranks} ranks of MPI", programs.check_mpi, ranks)
    report.check("CMake, shared", programs.check_cmake, "inlay::inlay", False)
    report.check("CMake, static", programs.check_cmake, "inlay::inlay_static", True)
    report.check("CMake, shared, no static library installed", programs.check_cmake, "inlay::inlay", False, ["*.a"])
    report.check("CMake, static, no shared library installed", programs.check_cmake, "inlay::inlay", True, ["*.so*"])
    for target in "inlay::file", "inlay::file_static":
        report.check(f"CMake, {target}", programs.check_cmake_file, target)
    report.check("CMake: versions and targets", programs.check_cmake_answers)
    report.check("CMake: components", programs.check_cmake_components)
    report.check("CMake, from source", programs.check_cmake_source)
    report.check("Meson subproject", programs.check_subproject)
    report.check("Meson: what is built by default", programs.check_default_build)
    report.check("Meson: there is no SLEEF", programs.check_no_sleef)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--installed", action="store_true", help="BUILD_DIR is a prefix into which inlay is installed")
    parser.add_argument("build_dir", type=pathlib.Path)
    parser.add_argument("source_dir", type=pathlib.Path)
    arguments = parser.parse_args()
    os.environ.pop("DESTDIR", None)

    report = Report()
    with tempfile.TemporaryDirectory(prefix="inlay-install-") as folder:
        folder = pathlib.Path(folder).resolve()
        if arguments.installed:
            installed = Installed(System(arguments.build_dir, arguments.source_dir.resolve()), pathlib.Path("/"))
        else:
            installed = Installed(Build(arguments.build_dir.resolve(), arguments.source_dir.resolve()), folder / "destdir")
        if not installed.movable or report.check("meson install", installed.install):
            report.check("the installed files", installed.check_tree)
            report.check("the links to the shared library", installed.check_links)
            report.check("the soname", installed.check_soname)
            report.check("exported symbols", installed.check_symbols)
            report.check("versions agree", installed.check_version)
            if report.check("what is installed runs here", installed.check_runs):
                report.check("the installed tool: the tutorial's tensor", check_tool, installed, installed.build.source)
                check_programs(report, installed, folder)
    print(f"install: {report.passed} passed, {report.failed} failed, {report.skipped} skipped")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
