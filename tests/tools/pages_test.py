#!/usr/bin/env python3
"""Runs the examples of the pages, so that what they show works.

  tests/tools/pages_test.py BUILD [sh | python | cpp] [PAGE...] [--flags=FLAGS of a sanitizer, separated by ;]
  tests/tools/pages_test.py --self-test

A page's examples run in order, in a temporary folder of the page's own, with BUILD/garner first on PATH.
  ```sh             runs in bash and must succeed; `sh fails` must not
  ```python         runs with the wheel of BUILD/python (ctest's python.wheel makes it); one page is one interpreter
  ```python needs: M    the same where the module M is installed; `sh needs: M` runs in mode python alone
  ```python file: F     is written to the file F of the page's folder, for the commands that follow
  ```cpp            is compiled against an installed Garner and runs: all such of a page are one program, `#include` lines first
  ```text output    is what the example before it prints: blanks count as one, `...` stands for any text, alone for any lines
  ```sh not-run: R  does not run here for one of the reasons below, each of which may be given so often only
A notebook (examples/notebooks) is a page too: its code cells are Python, or bash where each line begins with `!`. What a cell prints must be the
output that the notebook keeps, unless the cell has the tag `varies`. Its metadata {"garner": {"needs": M}} name a module that it needs.
Mode sh runs the shell examples of all pages, of each as far as its first Python. The other modes run the pages that have such examples.
"""
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Why an example is not run here, and how many such there may be.
reasons = {
    "make": 14,     # builds, packs or tests Garner itself: whoever runs this test has done so
    "GPU": 20,      # needs a device
    "pip": 7,       # fetches packages
    "minutes": 8,   # measures for longer than a test should
    "data": 4,      # needs a file that a clone has not
    "fragment": 8,  # a part of something: it shows a name in its place
}


class block:
    def __init__(self, page, line, info, text):
        self.where, self.info, self.text = f"{page}:{line}", info, text
        # All processes of a user share this name; each of two concurrent runs of this test needs its own.
        if info.startswith(("python", "cpp")):
            self.text = text.replace('"papers"', f'"papers-{os.getpid()}"')
        self.language = info.split()[0] if info else ""
        self.rest = info[len(self.language):].strip()
        self.runs = self.language in ("sh", "python", "cpp") and not self.rest.startswith("not-run")


def blocks_of(page, text):
    """The fenced examples of a page, in order."""
    found, fence = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if fence:
                found.append(block(page, fence[0], fence[1], "\n".join(fence[2])))
                fence = None
            else:
                fence = (number, line[3:].strip(), [])
        elif fence:
            fence[2].append(line)
    return found


def page_of_notebook(text):
    """The cells of a notebook as the examples of a page."""
    notebook, page = json.loads(text), []
    needs = notebook["metadata"].get("garner", {}).get("needs")
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            page.append(source)
            continue
        shell = all(line.startswith("!") for line in source.split("\n"))
        page.append(f"```sh\n{source[1:].replace(chr(10) + '!', chr(10))}\n```" if shell else f"```python{' needs: ' + needs if needs else ''}\n{source}\n```")
        printed = "".join("".join(one.get("text", [])) for one in cell["outputs"])
        if printed.strip() and "varies" not in cell["metadata"].get("tags", []):
            page.append(f"```text output\n{printed.strip()}\n```")
    return "\n".join(page)


def differs(expected, said):
    """None where `said` holds the expected lines in this order, else a word on it."""
    def plain(text):
        return [" ".join(line.split()) for line in text.strip("\n").split("\n")]

    pattern = ""
    for line in plain(expected):
        pattern += r"(?:[^\n]*\n)*?" if line == "..." else ".*?".join(map(re.escape, line.split("..."))) + r" ?\n"
    return None if re.search("(?m)^" + pattern, "\n".join(plain(said)) + "\n") else f"expected\n{expected}\nbut it said\n{said}"


class interpreter:
    """One Python for all blocks of a page; each ends with a line of its own."""
    loop = """
import sys, traceback
names = {"__name__": "__main__"}
for file in sys.stdin:
    file = file.strip()
    try:
        exec(compile(open(file).read(), file, "exec"), names)
        end = "ok"
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        end = "failed"
    print("\\n== " + end, flush=True)
"""

    def __init__(self, python, folder):
        environment = dict(os.environ, PYTHONPATH="")
        self.process = subprocess.Popen([python, "-X", "faulthandler", "-c", self.loop], cwd=folder, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, file):
        self.process.stdin.write(file + "\n")
        self.process.stdin.flush()
        said = []
        for line in self.process.stdout:
            if line.startswith("== "):
                return line.strip() == "== ok", "".join(said)
            said.append(line)
        return False, "".join(said) + "\nthe interpreter ended"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@functools.cache
def has(python, rest):
    """Whether the module that an example needs is there; true where it needs none."""
    found = re.fullmatch(r"needs: (\w+)", rest)
    return not found or subprocess.run([python, "-c", f"import {found.group(1)}"], capture_output=True, check=False).returncode == 0


def compile_page(page, blocks, prefix, compiler, flags, folder):
    """The C++ examples of a page as one program in `folder`; what the compiler said, or None."""
    includes, body = ["#include <garner/garner.hpp>", "#include <cstdint>", "#include <iostream>", "#include <vector>"], []
    for one in blocks:
        body.append(f'#line {int(one.where.split(":")[1]) + 1} "{page}"')
        for line in one.text.split("\n"):
            (includes if line.startswith("#include") else body).append(line)
            if line.startswith("#include"):
                body.append("")
    with open(f"{folder}/page.cpp", "w", encoding="utf-8") as out:
        out.write("\n".join(includes) + "\nint main() {\n" + "\n".join(body) + "\n}\n")
    done = subprocess.run([compiler, "-std=c++20", "-O0", *flags, f"-I{prefix}/include", f"{folder}/page.cpp", "-o", f"{folder}/page",
                           f"-L{prefix}/lib", "-lgarner", f"-Wl,-rpath,{prefix}/lib"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else None


def run_page(page, text, build, mode, tools, failures):
    """Runs the examples that `mode` selects; counts them."""
    blocks, count = blocks_of(page, text), 0
    asked = ("sh", "python") if mode == "python" else ("sh",)
    if mode != "sh" and not any(one.language == mode and one.runs for one in blocks):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        venv = f"{os.path.dirname(tools['python'])}:" if mode == "python" else ""
        environment = dict(os.environ, PATH=f"{build}:{venv}{os.environ['PATH']}", HOME=folder, XDG_CACHE_HOME=f"{folder}/.cache")
        shell = {}
        python = interpreter(tools["python"], folder) if mode == "python" else None
        said = None
        for one in blocks:
            if one.language == "text" and one.rest == "output":
                wrong = differs(one.text, said) if said is not None else None
                if wrong:
                    failures.append(f"{one.where}: {wrong}")
                continue
            if one.runs and one.language == "python" and mode == "sh":
                break  # what follows may need its files, and is run in mode python
            file = re.fullmatch(r"file: ([\w.]+)", one.rest)
            if file:
                with open(os.path.join(folder, file.group(1)), "w", encoding="utf-8") as out:
                    out.write(one.text)
                continue
            if not one.runs or one.language not in asked or (one.rest.startswith("needs: ") and (mode == "sh" or not has(tools["python"], one.rest))):
                said = None
                continue
            if one.language == "sh":
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", one.text], cwd=folder, env={**environment, **shell}, text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250, check=False)
                said, ok = done.stdout, (done.returncode != 0) == (one.rest == "fails")
            else:
                file = os.path.join(folder, f".{one.where.replace('/', '_').replace(':', '_line_')}.py")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(one.text)
                ok, said = python.run(file)
            count += 1
            if not ok:
                failures.append(f"{one.where}: {'succeeded' if one.rest == 'fails' else 'failed'}:\n{one.text}\n--- it said:\n{said}")
        if python:
            python.close()
        if mode == "cpp":
            mine = [one for one in blocks if one.language == "cpp" and one.runs]
            wrong = compile_page(page, mine, tools["prefix"], tools["compiler"], tools["flags"], folder)
            if not wrong:
                done = subprocess.run([f"{folder}/page"], cwd=folder, capture_output=True, text=True, check=False)
                wrong = done.stdout + done.stderr if done.returncode else None
            if wrong:
                failures.append(f"{page}: its C++ examples: {wrong}")
            count += len(mine)
    return count


def check_reasons(texts, failures):
    given = {}
    for page, text in texts.items():
        for one in blocks_of(page, text):
            if re.fullmatch(r"needs: \w+", one.rest) and one.language in ("sh", "python") or re.fullmatch(r"file: [\w.]+", one.rest) and one.language == "python":
                continue
            if one.language in ("sh", "python", "cpp") and one.rest not in ("", "fails"):
                found = re.fullmatch(r"not-run: (\w+)", one.rest)
                if not found or found.group(1) not in reasons:
                    failures.append(f"{one.where}: '{one.info}': not-run needs one of the reasons {', '.join(sorted(reasons))}")
                else:
                    given.setdefault(found.group(1), []).append(one.where)
    for reason, places in given.items():
        if len(places) > reasons[reason]:
            failures.append(f"{len(places)} examples are not run for the reason '{reason}', {reasons[reason]} may be: {', '.join(places)}")


def self_test():
    wrong = []

    def expect(what, ok):
        if not ok:
            wrong.append(what)

    expect("blanks count as one", differs("a  b\nc", "x\na b\n c\nd") is None)
    expect("... stands for text", differs("in ... ms", "in 3.5 ms") is None)
    expect("... alone stands for lines", differs("a\n...\nd", "a\nb\nc\nd") is None)
    expect("other text is found", differs("a\nc", "a\nb\nc") is not None)
    expect("a dot is a dot", differs("1.5", "1x5") is not None)
    page = "```sh\necho one > f\n```\n```sh\ncat f\n```\n```text output\none\n```\n```sh fails\nfalse\n```\n```sh not-run: GPU\nfalse\n```\n"
    failures = []
    expect("four examples, three run", run_page("p", page, "/nowhere", "sh", {}, failures) == 3)
    expect(f"a sound page is refused: {failures}", not failures)
    for spoilt, what in [("cat f", "cat g"), ("one\n```\n```sh fails", "two\n```\n```sh fails"), ("sh fails\nfalse", "sh fails\ntrue")]:
        failures = []
        run_page("p", page.replace(spoilt, what), "/nowhere", "sh", {}, failures)
        expect(f"not found: {what!r}", failures)
    failures = []
    run_page("p", "```python\nx = 1\n```\n```python\nassert x == 1\nprint(x)\n```\n```text output\n1\n```\n", "/nowhere", "python",
             {"python": sys.executable}, failures)
    expect(f"a page of Python is refused: {failures}", not failures)
    run_page("p", "```python\nx = 1\n```\n```python\nassert x == 2\n```\n", "/nowhere", "python", {"python": sys.executable}, failures)
    expect("not found: a failed assertion", failures)
    cells = [("markdown", "# N", "", []), ("code", "!echo one\n!echo two", "one\ntwo\n", []), ("code", "x = 1\nprint(x)", "1\n", []),
             ("code", "print(x + 1)", "3\n", ["varies"])]
    notebook = json.dumps({"metadata": {"garner": {"needs": "json"}}, "cells": [
        {"cell_type": kind, "source": source.splitlines(True), "metadata": {"tags": tags}, "outputs": [{"output_type": "stream", "text": said}]}
        for kind, source, said, tags in cells]})
    failures = []
    expect("the cells of a notebook run", run_page("n", page_of_notebook(notebook), "/nowhere", "python", {"python": sys.executable}, failures) == 3)
    expect(f"a notebook is refused: {failures}", not failures)
    for spoilt, what in [("echo two", "echo three"), ("x = 1", "x = 2"), ("varies", "sure")]:
        failures = []
        run_page("n", page_of_notebook(notebook.replace(spoilt, what)), "/nowhere", "python", {"python": sys.executable}, failures)
        expect(f"not found in a notebook: {what!r}", failures)
    failures = []
    needs = "```python needs: json\nx = 1\n```\n```python needs: no_such_module\nassert False\n```\n"
    expect("one of two modules is there", run_page("p", needs, "/nowhere", "python", {"python": sys.executable}, failures) == 1 and not failures)
    failures = []
    files = "```python file: one.py\nprint('one')\n```\n```sh needs: json\npython3 one.py\n```\n```text output\none\n```\n"
    expect("a file of a page", run_page("p", files, "/nowhere", "python", {"python": sys.executable}, failures) == 1 and not failures)
    expect("such a page in mode sh", run_page("p", files, "/nowhere", "sh", {}, failures) == 0 and not failures)
    check_reasons({"p": files}, failures)
    check_reasons({"p": needs}, failures)
    expect(f"a missing module needs no further reason: {failures}", not failures)
    check_reasons({"p": "```sh not-run\n```\n"}, failures)
    check_reasons({"p": "```sh not-run: laziness\n```\n"}, failures)
    check_reasons({"p": "```sh not-run: data\n```\n" * (reasons["data"] + 1)}, failures)
    expect(f"three bad reasons, found {failures}", len(failures) == 3)
    print(*wrong or ["examples run, and faults in them are found"], sep="\n")
    return 1 if wrong else 0


def main(arguments):
    flags = [one.removeprefix("--flags=") for one in arguments if one.startswith("--flags=")]
    arguments = [one for one in arguments if not one.startswith("--flags=")]
    build, mode = os.path.abspath(arguments[0]), arguments[1] if len(arguments) > 1 else "sh"

    def skip(why):
        print(f"[  SKIPPED ]\nSkipped\n{why}")
        return 77

    if not os.path.exists(f"{build}/garner"):
        return skip(f"needs the program, {build}/garner")
    if not os.path.isdir(f"{root}/docs"):
        return skip("needs the pages of the sources")
    pages = arguments[2:] or sorted(page for kind in ("*.md", "docs/**/*.md", "examples/notebooks/*.ipynb")
                                    for page in glob.glob(kind, root_dir=root, recursive=True))
    pages = [page for page in pages if page not in ("docs/reference/options.md", "CHANGELOG.md")]
    texts = {page: open(os.path.join(root, page), encoding="utf-8").read() for page in pages}
    texts = {page: page_of_notebook(text) if page.endswith(".ipynb") else text for page, text in texts.items()}
    failures, tools, count = [], {}, 0
    with tempfile.TemporaryDirectory() as installed:
        if mode == "python":
            if not os.path.exists(f"{build}/python/ready"):
                return skip("needs the wheel; the test that builds it says why it is missing")
            tools["python"] = f"{build}/python/venv/bin/python"
        if mode == "cpp":
            cache = open(f"{build}/CMakeCache.txt", encoding="utf-8").read()
            tools["compiler"] = re.search(r"^CMAKE_CXX_COMPILER:[A-Z]*=(.*)$", cache, re.MULTILINE).group(1)
            tools["flags"] = " ".join(flags).replace(";", " ").split()
            if not shutil.which("cmake"):
                return skip("needs cmake")
            subprocess.run(["cmake", "--install", build, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
            tools["prefix"] = installed
            if not glob.glob(f"{installed}/lib/libgarner.so"):
                return skip("needs libgarner.so; this build has the static library")
        for page in pages:
            count += run_page(page, texts[page], build, mode, tools, failures)
        if mode == "sh" and not arguments[2:]:
            check_reasons(texts, failures)
    print(*failures, sep="\n\n")
    print(f"{count} examples of {len(pages)} pages run, {len(failures)} wrong")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main(sys.argv[1:]))
