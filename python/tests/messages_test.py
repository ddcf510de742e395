"""What errors say is said in Python's words: every message of the sources that speaks of the program or of C++ has its translation."""
import pathlib
import re
import unittest

from garner.errors import in_python

sources = pathlib.Path(__file__).resolve().parents[2] / "src"
# Of C++ and of the program: options, functions, commands. What only they can meet is not in question: traces, LDBC's and the reader's options,
# peers between C++ callers, a failed certificate's report.
foreign = re.compile(r"--(?!shm-size|long)[a-z]|bring_to|open_graph|unified_tensor|`garner |garner (convert|info|stats|trace|score|reorder)\\b(?!\\.)|::")
only_theirs = re.compile(r"--skip-lines is for text|--from FORMAT|record it anew|rows\\(\\)|::|plan_|please report|`garner bench")


def messages():
    literal = r'"(?:[^"\\\\\n]|\\\\.)*"'
    for file in sorted(sources.rglob("*.cpp")) + sorted(sources.rglob("*.hpp")):
        text = re.sub(r"^\s*(//|#include).*$", "", file.read_text(), flags=re.M)
        for found in re.finditer(rf"{literal}(?:\s*{literal})*", text):
            yield file.relative_to(sources), "".join(part[1:-1] for part in re.findall(literal, found[0]))


@unittest.skipUnless(sources.is_dir(), "needs the sources beside the tests")
class Messages(unittest.TestCase):
    def test_none_speaks_of_the_program(self):
        seen = 0
        for file, message in messages():
            if not foreign.search(message) or only_theirs.search(message):
                continue
            seen += 1
            with self.subTest(file=str(file), message=message):
                said = in_python(message)
                self.assertIsNone(foreign.search(said), said)
        self.assertGreater(seen, 10)

    def test_the_rest_of_a_message_stays(self):
        for message in ("a.npy: cannot be opened: No such file", "vertex 5 does not exist in --odd--; ids go from 0 to 3"):
            self.assertEqual(in_python(message), message)
        self.assertEqual(in_python("g: has no in-lists; add them with `garner convert --in-lists`"),
                         "g: has no in-lists; build or read it with in_lists=True")


if __name__ == "__main__":
    unittest.main()
