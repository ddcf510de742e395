// `garner score`, `garner reorder --by score`: JSON, files, rejected options.
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

TEST(sampling_program, scores_as_json_and_file) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  outcome const o = at.shell("garner score k.gnr --fanout 5,5 --train 5% --json -o s.tsv");
  ASSERT_EQ(o.code, 0) << o.err;
  json const all = json::parse(o.out);
  EXPECT_EQ(all["by"], "expected");
  EXPECT_EQ(all["training_nodes"], 51);
  EXPECT_EQ(all["iterations"], 2);
  EXPECT_TRUE(all["bytes_link"].is_null());
  EXPECT_EQ(all["top"].size(), 10u);
  std::istringstream lines(read_text(at / "s.tsv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "vertex\tscore");
  std::size_t rows = 0;
  while (std::getline(lines, line)) EXPECT_EQ(line.rfind(std::to_string(rows++) + "\t", 0), 0u);
  EXPECT_EQ(rows, 1024u);
  json const simulated = json::parse(at.shell("garner score k.gnr --by rpr --device simulated --json").out);
  EXPECT_GT(simulated["bytes_link"].get<std::uint64_t>(), 0u);
  // Presampling has its own seed: --seed selects the training set, and with a file of it, is unused.
  EXPECT_EQ(at.shell("printf '3\\n7\\n' > two.txt && garner score k.gnr --by sampled --presample 2 --train two.txt -o a.npy && "
                     "garner score k.gnr --by sampled --presample 2 --train two.txt --seed 9 -o b.npy && cmp a.npy b.npy")
                .code,
            0);
  json const sampled = json::parse(at.shell("garner score k.gnr --by sampled --fanout 5,5 --json").out);
  EXPECT_EQ(sampled["presample"], 8);
  EXPECT_EQ(sampled["fanouts"].size(), 2u);
  EXPECT_TRUE(all["presample"].is_null());
  EXPECT_EQ(at.shell("garner score k.gnr --by sampled -o s.npy && garner reorder k.gnr p.gnr --by score --score s.npy && garner reorder "
                     "k.gnr q.gnr --by score --score sampled && cmp p.gnr q.gnr")
                .code,
            0);
  // The same scores for any internal order.
  EXPECT_EQ(at.shell("garner reorder k.gnr r.gnr && garner score r.gnr --by degree -o b.tsv && garner score k.gnr --by degree -o a.tsv && "
                     "cmp a.tsv b.tsv")
                .code,
            0);
}

TEST(sampling_program, reorders_with_the_table) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 9 k.gnr").code, 0);
  EXPECT_EQ(at.shell("garner score k.gnr --by degree -o t.npy").code, 0);
  // Scores form a table of 512 rows like any other.
  outcome const r = at.shell(
      "garner score k.gnr --fanout 5,5 -o s.npy && garner reorder k.gnr a.gnr --by score --score s.npy --features t.npy --features-out "
      "a.npy "
      "&& "
      "garner reorder k.gnr b.gnr --by score --score expected --fanout 5,5 --features t.npy && cmp a.gnr b.gnr && cmp a.npy t.npy");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("in score order"), std::string::npos);
  outcome const usual = at.shell("garner reorder k.gnr c.gnr --by score --fanout 5,5 --map m.npy && cmp a.gnr c.gnr");  // expected
  EXPECT_EQ(usual.code, 0) << usual.err;
  // The map gives the old row of each new row.
  ASSERT_EQ(at.shell("garner score k.gnr --by degree -o t.npy").code, 0);
  auto const array = [&](char const* name, std::size_t each) {
    std::string const all = read_text(at / name);
    return all.substr(all.size() - 512 * each);
  };
  std::string const map = array("m.npy", 8), before = array("t.npy", 4), after = array("a.npy", 4);
  std::vector<bool> met(512, false);
  for (std::size_t k = 0; k < 512; ++k) {
    std::int64_t from = -1;
    std::memcpy(&from, map.data() + k * 8, 8);
    ASSERT_TRUE(from >= 0 && from < 512 && !met[static_cast<std::size_t>(from)]) << k;
    met[static_cast<std::size_t>(from)] = true;
    EXPECT_EQ(after.substr(k * 4, 4), before.substr(static_cast<std::size_t>(from) * 4, 4)) << k;
  }
}

TEST(sampling_program, refuses_tables_before_anything_is_written) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 8 k.gnr && garner generate kron --scale 7 s.gnr && garner score s.gnr -o small.npy && "
                     "garner score k.gnr -o t.npy && garner reorder k.gnr d.gnr")
                .code,
            0);
  std::string const table = read_text(at / "t.npy");
  std::vector<std::string> const before = at.names();
  auto const says = [&](std::string const& line, int code, std::string const& what) {
    expect_refused(at, line, code, what);
    EXPECT_EQ(at.names(), before) << line;
  };
  says("garner reorder k.gnr o.gnr --features small.npy", 1, "128 rows and k.gnr has 256 vertices");
  says("garner reorder d.gnr o.gnr --by random --features t.npy", 2, "d.gnr is in degree order already");
  says("garner reorder d.gnr o.gnr --by natural --features t.npy --features-out u.npy", 2, "as it was converted");
  says("garner reorder k.gnr o.gnr --map m.txt", 2, ".npy");
  says("garner reorder k.gnr o.gnr --features t.npy --map t.npy", 2, "--map");
  says("garner reorder k.gnr o.gnr --features t.npy --features-out u.npy --map t.npy", 2, "--map t.npy");
  says("garner reorder k.gnr o.gnr --map none/m.npy", 1, "none");
  EXPECT_EQ(read_text(at / "t.npy"), table);
}

TEST(sampling_program, refuses) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 8 k.gnr && printf '1 2\\n2 3\\n' > d.el && garner convert d.el d.gnr --directed").code,
            0);
  auto const says = [&](std::string const& line, int code, std::string const& what) { expect_refused(at, line, code, what); };
  at.write("t.npy", std::string("\x93NUMPY\x01\0", 8));  // lists of ids are text
  says("garner bfs k.gnr --sources t.npy", 1, "t.npy: line 1: '\\x93NUMPY\\x01\\x00' is not a vertex id");
  says("garner pagerank k.gnr --personalization t.npy", 1, "t.npy: line 1: '\\x93NUMPY\\x01\\x00' is not valid");
  says("garner score k.gnr --by size", 2, "wrpr");
  says("garner score k.gnr --by sampled --presample 0", 2, "0 epochs");
  EXPECT_EQ(at.shell("garner score k.gnr --by expected --presample 0").code, 0);  // that score does not use it
  // Before any allocation.
  says("garner score k.gnr --by sampled --train 100% --memory-limit 120KiB", 1, "k.gnr: needs about");
  EXPECT_NE(at.shell("garner score d.gnr --by sampled --train 100%").out.find("in-edges: not in the file; built in"), std::string::npos);
  // Before the file is loaded: this one would be refused as damaged.
  std::string spoilt = read_text(at / "k.gnr");
  spoilt[spoilt.size() / 2] = static_cast<char>(spoilt[spoilt.size() / 2] ^ 1);
  at.write("spoilt.gnr", spoilt);
  says("garner score spoilt.gnr", 1, "checksum");
  says("garner score spoilt.gnr --access copied", 2, "--access");
  says("garner score spoilt.gnr --by sampled --presample 0", 2, "0 epochs");
  says("garner score spoilt.gnr --by rpr --damping 2", 2, "damping");
  says("garner score spoilt.gnr --train 200%", 2, "--train");
  says("garner score spoilt.gnr --train nofile", 1, "cannot be read");
  says("garner reorder spoilt.gnr o.gnr --by score --score size", 2, "wrpr");
  says("garner reorder spoilt.gnr o.gnr --by score --score nofile.npy", 1, "nofile.npy");
  says("garner reorder spoilt.gnr o.gnr --by score --fanout 1025", 2, "fanout");
  says("garner reorder k.gnr o.gnr --score expected", 2, "--by score");
  says("garner reorder k.gnr o.gnr --features-out x.npy", 2, "add --features");
  says("garner reorder k.gnr o.gnr --by score --score k.npy", 1, "k.npy");
}

}  // namespace
}  // namespace garner::testing
