# SPDX-License-Identifier: MIT
"""The package itself: symbols of the binary, files, pictures, and the examples in the docs."""

import doctest
import importlib
import pathlib
import re
import subprocess
import sys
import sysconfig

import numpy
import pytest

import inlay

ROOT = pathlib.Path(__file__).parents[2]


def symbols(*options):
    """Returns lines of nm. Skips the test without binutils."""
    try:
        run = subprocess.run(["nm", *options, inlay._core.__file__], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("there is no nm")
    return run.stdout.splitlines()


def test_exports():
    exported = [line.split()[-1] for line in symbols("-D", "--defined-only")]
    assert sorted(exported) == ["PyInit__core", "RegisterCustomOps"]


def test_only_the_stable_abi_of_python():
    """The module uses only CPython's stable ABI, as its suffix promises."""
    if ".abi3." not in inlay._core.__file__:
        pytest.skip("this build is for one version of CPython")
    used = {line.split()[-1] for line in symbols("-D", "--undefined-only")}
    private = {name for name in used if name.startswith("_Py")}
    # These are stable too: macros of the limited API call them.
    stable = {"_Py_Dealloc", "_Py_NoneStruct", "_Py_TrueStruct", "_Py_FalseStruct", "_PyObject_New"}
    assert {name for name in private - stable if not name.endswith("_SizeT")} == set()


def test_old_libraries_suffice():
    """No symbols of glibc after 2.17, and none of C++."""
    versions = set(re.findall(r"@GLIBC_([0-9.]+)", "\n".join(symbols("-D", "--undefined-only"))))
    assert versions and max(tuple(map(int, version.split("."))) for version in versions) <= (2, 17)
    assert not re.search(r"GLIBCXX|CXXABI", "\n".join(symbols("-D")))


def test_names():
    assert set(inlay.__all__) <= set(dir(inlay))
    assert re.fullmatch(r"\d+\.\d+\.\d+", inlay.__version__)
    assert inlay.isa() in ("avx512", "avx2", "neon", "portable", "scalar")
    folder = pathlib.Path(inlay.positions.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()


def test_stubs_name_all_of_the_module():
    text = (ROOT / "python/inlay/_core.pyi").read_text(encoding="utf-8")
    stubs = set(re.findall(r"^(?:def |class )?(\w+)(?=[:(])", text, re.MULTILINE))
    assert stubs == {name for name in dir(inlay._core) if not name.startswith("__")}
    members = set(re.findall(r"^    (?:def )?(\w+)[:(]", text, re.MULTILINE))
    for kind in (inlay.Layer, inlay.Table):
        assert {name for name in vars(kind) if not name.startswith("_")} <= members


def test_import_needs_no_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import inlay, array\n"
        "data = memoryview(bytes(range(64))).cast('f', (4, 4))\n"
        "assert inlay.Layer(data)(array.array('i', [3, 1])).tobytes() == bytes(range(48, 64)) + bytes(range(16, 32))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_interpreters_are_refused():
    """A failed import doesn't affect the first interpreter."""
    attempt = "try:\n    import inlay\nexcept ImportError as error:\n    print(error)"
    code = (
        "import inlay, numpy, sys\n"
        "if sys.version_info >= (3, 13):\n"
        "    import _interpreters as interpreters\n"
        "    other, run = interpreters.create('legacy'), interpreters.exec\n"
        "else:\n"
        "    import _xxsubinterpreters as interpreters\n"
        "    other, run = interpreters.create(isolated=False), interpreters.run_string\n"
        f"run(other, {attempt!r})\n"
        "interpreters.destroy(other)\n"
        "assert type(inlay.Layer(numpy.ones((2, 8), 'f4'))([1])) is numpy.ndarray\n"
    )
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    by_python = "module inlay._core does not support loading in subinterpreters\n"  # without the GIL
    assert text in ("inlay supports only the main interpreter: import it there\n", by_python)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this CPython has a GIL")
def test_import_leaves_the_gil_off():
    subprocess.run([sys.executable, "-c", "import inlay, sys; assert not sys._is_gil_enabled()"], check=True)


def test_import_takes_no_matplotlib():
    subprocess.run([sys.executable, "-c", "import inlay, sys; assert 'matplotlib' not in sys.modules"], check=True)


def test_pictures(tmp_path, table):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = inlay.plot.sinusoid(64, 32, layout="split")
    numpy.testing.assert_array_equal(axes.images[0].get_array(), inlay.sinusoid(numpy.arange(64), 32, layout="split"))
    axes.figure.savefig(tmp_path / "sinusoid.png")
    assert (tmp_path / "sinusoid.png").stat().st_size > 5000
    axes = inlay.plot.table(inlay.quantize(table, "i8"), rows=9)
    assert axes.images[0].get_array().shape == (9, 12)


WRITES_NO_FILE = """
import inlay, numpy, os, sys
numpy.save("rows.npy", numpy.ones((4, 32), "f4"))
try:
    import matplotlib.pyplot
    matplotlib.use("agg")
    figure = matplotlib.pyplot.figure()
    figure.canvas.draw()  # matplotlib writes its font cache
except ImportError:
    matplotlib = None
def refuse(event, arguments):
    opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if opens or event in ("os.rename", "os.link", "os.symlink", "os.remove", "os.truncate", "os.mkdir"):
        raise PermissionError(f"{event} {arguments}")
sys.addaudithook(refuse)
try:
    open("rows.npy", "r+b")
except PermissionError:
    pass
else:
    sys.exit("nothing is refused")
with inlay.open("rows.npy") as model:
    table = model.table("data")
    inlay.Layer(table)([1, 2])
    if matplotlib:
        inlay.plot.table(table).figure.canvas.draw()
        inlay.plot.sinusoid(8, 8).figure.canvas.draw()
inlay.quantize(numpy.ones((4, 32), "f4"), "i8")
"""


def test_writes_no_file(tmp_path):
    """Runs in its own process, since a hook is permanent."""
    subprocess.run([sys.executable, "-c", WRITES_NO_FILE], check=True, cwd=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.npy"]


def importable(package):
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


# Pages with examples that all need packages in addition to NumPy. Other pages name them after the language of a block.
NEEDS = {"docs/pytorch.md": ["torch"], "docs/jax.md": ["jax"], "docs/onnx.md": ["onnx", "onnxruntime"]}
FOLDERS = [".", "docs", "docs/guides", "docs/site", "examples"]
PAGES = [str(page.relative_to(ROOT)) for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md"))
         if "```py" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_documents(page, monkeypatch):
    """Runs the Python code of a page from top to bottom. Its output must match the page.

    Words after the language of an example are packages without which it is left out.
    """
    for package in NEEDS.get(page, []):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```(python|pycon)((?: \w+)*)\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == len(re.findall(r"```py", text)) > 0
    names = {}
    absent = set()
    for kind, packages, block in blocks:
        missing = {package for package in packages.split() if not importable(package)}
        absent |= missing
        if missing:
            continue
        if kind == "python":
            exec(compile(block, page, "exec"), names)  # pylint: disable=exec-used
        else:
            test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
            assert runner.failures == 0
    if absent:
        pytest.skip(f"examples of {page} were left out: there is no {', '.join(sorted(absent))}")
