"""What mkdocs does besides, for the site: pages that are generated, and links that leave docs/.

- reference/api/: the Python package's names, for mkdocstrings to read from the sources and the stub;
- reference/headers/: include/garner/*.hpp, a page each, comments as prose;
- repository/: the files outside of docs/ that pages link to, notebooks as pages. A link to one leads there; on GitHub it leads to the file.
"""
import html
import json
import os
import posixpath
import re

import griffe
from mkdocs.structure.files import File

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
here = os.path.dirname(os.path.abspath(__file__))
link = re.compile(r"(\]\()([^()\s]+)(\))")
languages = {".py": "python", ".json": "json", ".hpp": "cpp", ".cpp": "cpp", ".sh": "sh", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml"}
of_repository = {}  # of a page under repository/: the file that it shows


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def page_of(path):
    """Where the site shows a file of the repository."""
    if path.startswith("docs/"):
        return path[len("docs/"):]
    return "repository/" + (path if path.endswith(".md") else path + ".md")


def goals(text, path):
    """The files of the repository to which a page links: (as written, path, anchor)."""
    for found in link.finditer(text):
        name, _, anchor = found.group(2).partition("#")
        if not name or re.match(r"[a-z]+:|/", name):
            continue
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if not goal.startswith("..") and os.path.isfile(os.path.join(root, goal)):
            yield found.group(2), goal, anchor


def shown(path):
    """A file of the repository as Markdown."""
    text = read(path)
    if path.endswith(".md"):
        return text
    name = posixpath.basename(path)
    if not path.endswith(".ipynb"):
        return f"# {name}\n\n````{languages.get(posixpath.splitext(path)[1], 'text')}\n{text.rstrip()}\n````\n"
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"]).strip()
        parts.append(source if cell["cell_type"] == "markdown" else f"````python\n{source}\n````")
        for output in cell.get("outputs", []):
            said = output.get("text") or output.get("data", {}).get("text/plain") or []
            if said:
                parts.append("````text\n" + "".join(said).rstrip() + "\n````")
    text = "\n\n".join(filter(None, parts))
    return text + "\n" if text.startswith("# ") else f"# {name}\n\n{text}\n"


def api_pages():
    """reference/api/NAME.md: the public names of a module, one after the other."""
    package = griffe.load("garner", search_paths=[os.path.join(root, "python")], resolve_aliases=True, resolve_external=False)

    def public(module):
        for name, item in sorted(module.members.items(), key=lambda one: one[0].lower()):
            if name.startswith("_") or (module.exports is not None and name not in module.exports):
                continue
            try:
                target = item.final_target if item.is_alias else item
            except griffe.AliasResolutionError:
                continue
            if not target.is_module and target.path.startswith("garner."):
                yield name, target

    def write(title, module, items):
        about = package[module.partition(".")[2]] if "." in module else package
        text = f"# {title}\n\n{about.docstring.value if about.docstring else ''}\n\n"
        return text + "".join(f"::: {module}.{name}\n\n" for name, _ in items)

    names = list(public(package))
    classes = [one for one in names if one[1].is_class]
    yield "garner", "garner: calls", write("garner: calls", "garner", [one for one in names if not one[1].is_class])
    yield "classes", "garner: classes", write("garner: classes", "garner", classes)
    for module in ("torch", "pyg"):
        yield module, f"garner.{module}", write(f"garner.{module}", f"garner.{module}", list(public(package[module])))


def prose(comment):
    """Lines of // as a paragraph."""
    text = html.escape(" ".join(re.sub(r"^//\s?", "", line).strip() for line in comment).strip("- "), quote=False)
    return "<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", text) + "</p>\n\n" if text else ""


def names_in(block):
    """What a stretch of a header declares at its outermost level."""
    depth, found = 0, []
    for line in block:
        plain = line.partition("//")[0]
        if depth == 0 and plain.strip() and not plain.startswith((" ", "}")):
            name = (re.match(r"(?:struct|class|enum class|using|concept)\s+(\w+)(?!.*;$|\w)", plain) or re.match(r"using\s+(\w+)", plain)
                    or re.match(r"[^(]*\b(\w+)\s+=", plain) or re.search(r"(\w+)\(", plain))
            if name and name.group(1) not in (*found, "requires") and not re.match(r"class \w+;|struct \w+;", plain):
                found.append(name.group(1))
        depth += plain.count("{") - plain.count("}") + plain.count("(") - plain.count(")")
    return found


def header_page(path):
    lines = read(path).split("\n")
    start = next(n for n, line in enumerate(lines) if not line.startswith("//"))
    out = [f"# {path[len('include/'):]}\n\n", prose(lines[:start]), f"```cpp\n#include <{path[len('include/'):]}>\n```\n\n"]
    begin = next((n for n, line in enumerate(lines) if line.startswith("namespace garner")), None)
    if begin is None:  # the table of contents
        return out[0] + out[1] + "```cpp\n" + "\n".join(lines[start:]).strip() + "\n```\n"
    block, depth = [], 0
    for line in lines[begin + 1:]:
        if line.startswith("}  // namespace garner"):
            line = ""
            depth = 0
        plain = line.partition("//")[0]
        if line.strip() or depth:
            block.append(line)
            depth += plain.count("{") - plain.count("}")
            continue
        if block:
            comment = 0
            while comment < len(block) and block[comment].startswith("//"):
                comment += 1
            names = names_in(block)
            if names:
                out.append("## " + ", ".join(f"`{name}`" for name in names[:4]) + (" ..." if len(names) > 4 else "") + "\n\n")
            out.append(prose(block[:comment]))
            if block[comment:]:
                out.append("```cpp\n" + "\n".join(block[comment:]) + "\n```\n\n")
        block = []
    return "".join(out)


def on_files(files, config):
    def add(path, text):
        files.append(File.generated(config, path, content=text))

    reference = next(one for part in config.nav for name, one in part.items() if name == "Reference")
    api, headers = [], []
    for name, title, text in api_pages():
        add(f"reference/api/{name}.md", text)
        api.append({title: f"reference/api/{name}.md"})
    for name in sorted(os.listdir(os.path.join(root, "include/garner"))):
        if name.endswith(".hpp"):
            add(f"reference/headers/{name}.md", header_page(f"include/garner/{name}"))
            headers.append({name: f"reference/headers/{name}.md"})
    reference[:] = [one for one in reference if not {"Python calls", "C++ headers"} & set(one)]
    reference += [{"Python calls": api}, {"C++ headers": headers}]

    todo = ["docs/" + file.src_uri for file in files if file.src_uri.endswith(".md") and not file.generated_by]
    of_repository.clear()
    while todo:
        path = todo.pop()
        if not path.endswith((".md", ".ipynb")):
            continue
        for _, goal, _ in goals(shown(path), path):
            if not goal.startswith("docs/") and page_of(goal) not in of_repository:
                of_repository[page_of(goal)] = goal
                add(page_of(goal), shown(goal))
                todo.append(goal)
    with open(os.path.join(here, "site.css"), encoding="utf-8") as style:
        add("assets/site.css", style.read())
    with open(os.path.join(here, "iframe-worker.js"), encoding="utf-8") as script:
        add("assets/iframe-worker.js", script.read())
    return files


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    path = of_repository.get(uri, "docs/" + uri)
    moved = {written: posixpath.relpath(page_of(goal), posixpath.dirname(uri) or ".") + (anchor and "#" + anchor)
             for written, goal, anchor in goals(markdown, path) if uri in of_repository or not goal.startswith("docs/")}
    markdown = link.sub(lambda found: found.group(1) + moved.get(found.group(2), found.group(2)) + found.group(3), markdown)
    return re.sub(r"^```(\w+) .*$", r"```\1", markdown, flags=re.MULTILINE)  # what only tests/tools/pages_test.py reads


def on_post_template(output, template_name, config):
    return "" if template_name in ("404.html", "sitemap.xml") else output  # a server's; they would hold addresses that files have not
