// Golden transcripts (golden.hpp) of the users' program.
#include "cli/golden.hpp"
#include "cli/training_files.hpp"
#include "core/device.hpp"

namespace garner::testing {
namespace {

void expect_golden(std::string const& name, std::vector<std::string> const& commands,
                   std::function<void(folder const&)> const& prepare = {}) {
  expect_golden_of("cli", name, commands, prepare);
}

// The page of commands and options is the program's own description.
TEST(golden, options_page) {
  folder const at;
  std::filesystem::path const page = std::filesystem::path(GARNER_SOURCE_DIR) / "docs/reference/options.md";
  if (!std::filesystem::exists(page)) GTEST_SKIP() << "needs docs/reference/options.md of the sources";
  std::string const now = at.shell("garner --reference").out;
  if (std::getenv("GARNER_UPDATE_GOLDEN")) std::ofstream(page, std::ios::binary) << now;
  EXPECT_EQ(now, read_text(page)) << "garner --reference > docs/reference/options.md";
}

// So is the second half of the page of JSON.
TEST(golden, json_page) {
  folder const at;
  std::filesystem::path const page = std::filesystem::path(GARNER_SOURCE_DIR) / "docs/reference/json.md";
  if (!std::filesystem::exists(page)) GTEST_SKIP() << "needs docs/reference/json.md of the sources";
  std::string const text = read_text(page), now = at.shell("garner schema --reference").out;
  std::size_t const begin = text.find(now.substr(0, now.find('\n') + 1));
  ASSERT_NE(begin, std::string::npos) << "the page has no '" << now.substr(0, now.find('\n')) << "'";
  if (std::getenv("GARNER_UPDATE_GOLDEN")) std::ofstream(page, std::ios::binary) << text.substr(0, begin) + now;
  EXPECT_EQ(now, read_text(page).substr(begin)) << "GARNER_UPDATE_GOLDEN=1 writes what garner schema --reference prints";
}

TEST(golden, help) {
  expect_golden("help", {"garner --version",
                         "garner --help",
                         "garner generate --help",
                         "garner convert --help",
                         "garner reorder --help",
                         "garner stats --help",
                         "garner bfs --help",
                         "garner score --help",
                         "garner sample --help",
                         "garner load --help",
                         "garner train --help",
                         "garner predict --help",
                         "garner plan --help",
                         "garner info --help",
                         "garner doctor --help",
                         "garner demo --help",
                         "garner",
                         "garner bsf",
                         "garner --frob",
                         "garner bfs",
                         "garner bfs g.gnr --frob"});
}

TEST(golden, doctor) {
  expect_golden("doctor", {"export GARNER_DEVICE_FOLDER=. && garner doctor --device simulated", "garner doctor --device moon"});
}

TEST(golden, generate) {
  expect_golden("generate", {"garner generate kron --scale 8 --edge-factor 4 k.gnr",
                             "garner generate uniform --scale 8 --seed 7 --random-weights 1:9 u.gnr",
                             "garner generate web --scale 8 --id-bytes 8 --random-weights-f32 0:1 w.gnr",
                             "garner generate kron --scale 3 --edge-factor 2 k.wel",
                             "garner generate kron --scale 3 --edge-factor 2 --random-weights 5:5 k.wel",
                             "cat k.wel",
                             "garner generate ring --scale 8 r.gnr",
                             "garner generate kron --scale 32 r.gnr",
                             "garner generate kron --scale 0 r.gnr",
                             "garner generate kron --edge-factor 0 r.gnr",
                             "garner generate kron --id-bytes 5 r.gnr",
                             "garner generate kron --scale 8 r.foo",
                             "garner generate kron --scale 8 r.csv",
                             "garner generate kron --scale 8 nowhere/r.gnr",
                             "garner generate kron --scale 8 --device simulated r.gnr",
                             "garner generate kron --scale 8 --device moon r.gnr",
                             "garner generate kron --scale 8 --random-weights 9:1 r.gnr",
                             "garner generate kron --scale 8 --random-weights 1.5:2 r.gnr",
                             "garner generate kron --scale 8 --random-weights 1:2 --random-weights-f32 1:2 r.gnr",
                             "garner generate kron --scale 8 --memory-limit 4K r.gnr",
                             "garner generate kron --scale 8 --device-memory 4K r.gnr",
                             "ls"});
}

// Feature files; ls masks the random names of stripes.
TEST(golden, rows) {
  expect_golden(
      "rows",
      {"garner convert x.npy x.gnt", "garner convert x.gnt back.npy && cmp x.npy back.npy",
       "garner convert x.npy s.gnt --stripe d0,d1 --page-bytes 512 && ls d0 d1 | sed 's/[0-9a-f]\\{8\\}/#/'",
       "garner convert s.gnt t.gnt && garner convert t.gnt back.npy && cmp x.npy back.npy",
       "rm d1/* && garner convert s.gnt y.npy 2>&1 | sed 's/[0-9a-f]\\{8\\}/#/; s/ [^ ]*d1/ d1/'",
       "head -c 20000 x.gnt > short.gnt && garner convert short.gnt y.npy",
       "printf x | dd of=x.gnt bs=1 seek=9000 conv=notrunc status=none && garner convert x.gnt y.npy",
       "garner convert x.npy x.gnr --stripe d0", "garner convert x.npy y.gnt --undirected", "garner convert x.npy y.gnt --page-bytes 1000",
       "garner convert x.npy y.gnt --stripe d0,none", "garner convert t.gnt y.xyz", "garner convert none.npy y.gnt", "ls"},
      [](folder const& at) {
        std::filesystem::create_directory(at / "d0");
        std::filesystem::create_directory(at / "d1");
        std::vector<float> rows(100 * 75);
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<float>(k);
        write_npy(at, "x.npy", "<f4", rows, 75);
      });
}

TEST(golden, convert) {
  expect_golden("convert",
                {"printf '# from to\\n1 2\\n2 3\\r\\n3 1\\n1 2\\n4 4' > a.txt",
                 "garner convert a.txt a.gnr",
                 "garner convert a.txt b.gnr --undirected",
                 "garner convert a.gnr a.el && cat a.el",
                 "garner convert b.gnr b.mtx && cat b.mtx",
                 "garner convert b.mtx c.gnr",
                 "garner convert a.gnr copy.gnr && cmp a.gnr copy.gnr",
                 "garner convert a.gnr d.gnr --in-edges --id-bytes 8",
                 "garner convert a.gnr d.gnr --random-weights 1:9 && garner convert d.gnr d.wel && cat d.wel",
                 "garner convert d.gnr d.bel && garner convert d.bel.col e.gnr && cmp d.gnr e.gnr",
                 "garner convert a.gnr a.sg.zst",
                 "garner convert a.sg.zst f.gnr && cmp a.gnr f.gnr",
                 "printf '10 4000000000\\n4000000000 77\\n77 10\\n' > sparse.el",
                 "garner convert sparse.el s.gnr",
                 "garner convert s.gnr t.gnr --undirected",
                 "garner convert t.gnr t.el && cat t.el",
                 "garner convert a.txt u.gnr --compact --keep-loops --keep-duplicates",
                 "garner convert u.gnr u.el && cat u.el",
                 "garner convert u.gnr v.gnr --id-bytes 8 && garner convert v.gnr v.el > log && cmp u.el v.el",
                 "garner convert u.gnr v.gnr --undirected",
                 "printf '3 2\\n0 1\\n1 2\\n' > counts.txt",
                 "garner convert counts.txt counts.gnr --skip-lines 1",
                 "garner convert counts.txt counts.gnr --from mtx",
                 ": > empty.el && garner convert empty.el empty.gnr",
                 "garner convert empty.el empty.gnr --allow-empty",
                 "garner convert a.txt x.gnr --compress --id-bytes 8",
                 "garner convert a.gnr x.gnr --compress --decompress",
                 "garner convert a.gnr x.gnr --keep-hints 0",
                 "garner reorder a.gnr x.gnr --keep-cached-neighbors 5",
                 "garner convert a.txt x.gnr --undirected --keep-loops",
                 "garner convert a.txt x.gnr first second --third fourth",
                 "printf '0 1 nan\\n' > nan.wel && garner convert nan.wel x.gnr",
                 "printf '0 1 +1\\n1 2 -0\\n' > signs.wel && garner convert signs.wel x.gnr && garner convert x.gnr s.wel && cat s.wel",
                 "printf '5 6\\n6 7\\n' > close.el && garner convert close.el close.gnr --compact",
                 "garner reorder close.gnr x.gnr && garner reorder x.gnr y.gnr --by natural && cmp close.gnr y.gnr",
                 "printf '0 0\\n' > loop.el && garner convert loop.el loop.gnr"});
}

// Formats by suffix, picked columns, standard input and output.
TEST(golden, formats) {
  expect_golden(
      "formats",
      {"printf '4 3\\n2 3\\n1 4\\n1\\n2\\n' > m.graph && garner convert m.graph m.gnr",
       "garner convert m.gnr back.graph && cmp m.graph back.graph", "garner convert m.gnr - --to el 2>said && cat said",
       "printf '0 1\\n1 2\\n' | garner convert - - --from el --to mtx --quiet 2>/dev/null",
       "printf '0 1\\n1 2\\n' | garner convert - p.gnr --from el", "garner convert - p.gnr", "garner convert p.gnr -",
       "garner convert p.gnr - --to bel", "garner convert - p.el --from gnr", "garner convert p.gnr - --to wel",
       "garner convert p.gnr p.graph",
       "printf 'user,film,stars,when\\n1,31,2.5,99\\n2,31,4,98\\n' > RATINGS.CSV && garner convert RATINGS.CSV r.gnr",
       "garner convert RATINGS.CSV r.gnr --columns user,film,stars && garner convert r.gnr - --to wel 2>/dev/null",
       "garner convert RATINGS.CSV r.gnr --columns 2,1 | tail -1", "garner convert RATINGS.CSV r.gnr --columns user,movie",
       "garner convert m.gnr r.gnr --columns 1,2", "printf '0 1\\n' > e.edgelist && garner convert e.edgelist e.gnr | tail -1", "ls"});
}

// Dataset folders, and arrays of edges.
TEST(golden, hetero) {
  expect_golden(
      "hetero",
      {"head_of() { printf '\\223NUMPY\\1\\0v\\0%-117s\\n' \"{'descr': '<i4', 'fortran_order': $2, 'shape': $1, }\"; }; head_of '(2, 2)' "
       "False > "
       "e.npy; printf '\\0\\0\\0\\0\\1\\0\\0\\0\\2\\0\\0\\0\\3\\0\\0\\0' >> e.npy; head_of '(2, 0)' False > none.npy; head_of '(2, 2)' "
       "True > t.npy; "
       "tail -c 16 e.npy >> t.npy",
       "garner convert e.npy e.gnr && garner convert e.gnr - --to el 2> log",
       "garner convert t.npy t.gnr | grep note && garner convert t.gnr - --to el 2> log",
       "garner convert none.npy none.gnr",
       "garner convert none.npy none.gnr --allow-empty | tail -1",
       "printf 'PK' > x.npz; garner convert x.npz x.gnr",
       "d=mag/raw; for r in author___writes___paper paper___cites___paper; do mkdir -p $d/relations/$r; done; mkdir -p $d/node-feat/paper "
       "$d/node-label/paper mag/split/time/paper; printf 'author,paper\\n3,4\\n' | gzip > $d/num-node-dict.csv.gz; printf "
       "'author,paper\\nFalse,True\\n' | gzip > $d/nodetype-has-label.csv.gz",
       "d=mag/raw; printf '0,1\\n2,1\\n2,0\\n0,3\\n0,3\\n' | gzip > $d/relations/author___writes___paper/edge.csv.gz; printf "
       "'3,0\\n0,1\\n1,1\\n' | gzip > $d/relations/paper___cites___paper/edge.csv.gz; printf '2010\\n2011\\n2012\\n' | gzip > "
       "$d/relations/paper___cites___paper/edge_year.csv.gz; printf '1,2\\n3,4\\n5,6\\n7,8\\n' | gzip > "
       "$d/node-feat/paper/node-feat.csv.gz; printf '1\\n0\\n1\\n2\\n' | gzip > $d/node-label/paper/node-label.csv.gz; printf '3\\n0\\n' | "
       "gzip "
       "> mag/split/time/paper/train.csv.gz",
       "garner convert mag mag.json",
       "cat mag.json",
       "ls mag.garner",
       "garner convert mag.garner/author___writes___paper.gnr - --to el 2> log",
       "garner stats mag.garner/author___writes___paper.gnr | sed -n 3,8p",
       "garner bfs mag.garner/author___writes___paper.gnr --source 0 | sed 's/[0-9.]* ms/# ms/' | sed -n '1p;3p'",
       "garner bfs mag.garner/author___writes___paper.gnr --source 0 --tier file",
       "garner stats mag.json",
       "garner stats mag.json --json",
       "garner stats mag.json --check",
       "garner convert mag mag.json",
       "garner convert mag both.json --undirected --compress",
       "garner convert mag mag.gnr",
       "garner convert mag x.json --compact",
       "garner convert mag x.json --split random",
       "garner convert mag x.json --memory-limit 100",
       "garner convert mag nowhere/x.json",
       "garner convert mag.garner x.json",
       "garner convert mag.json x.gnr",
       "printf '0 1\\n' > e.el && garner convert e.el x.json",
       "garner convert e.el x.gnr --split time",
       "printf '7,0\\n' | gzip > mag/raw/relations/author___writes___paper/edge.csv.gz; garner convert mag x.json",
       "sed -i 's/\"count\": 4/\"count\": 5/' mag.json; garner stats mag.json",
       "sed -i 's/\"garner\": 1/\"garner\": 1, \"owner\": 1/' both.json; garner stats both.json",
       "ls"});
}

// In-edges missing in the file, and generated graphs.
TEST(golden, sources) {
  expect_golden(
      "sources",
      {"printf '0 1\\n1 2\\n2 0\\n3 0\\n3 1\\n' > d.el && garner convert d.el d.gnr > log && garner convert d.el in.gnr --in-edges > log",
       "garner pagerank d.gnr --verify --out d.txt | grep -v time",
       "garner pagerank in.gnr --out in.txt > log && cmp d.txt in.txt",
       "garner pagerank d.gnr --json | grep in_lists_made_ms | sed 's/: [0-9.e-]*/: #/'",
       "garner pagerank d.gnr --device simulated --memory-limit 300",
       "garner bfs d.gnr --variant direction --source 0 --verify | grep -v bottom-up",
       "garner score d.gnr --by sampled --train 100% --fanout 2 | grep in-edges",
       "garner plan d.gnr --algorithm pagerank --device cpu | sed -n '/array/,/^host/p'",
       "garner reorder d.gnr r.gnr --by score --score sampled --train 100% --fanout 2 && garner stats r.gnr | grep edges",
       "garner generate kron --scale 8 k.gnr > log && garner bfs k.gnr --out k.txt --format ldbc > log",
       "garner bfs kron:8 --out kron.txt --format ldbc > log && cmp k.txt kron.txt && head -1 log",
       "garner convert kron:8 c.gnr > log && cmp k.gnr c.gnr",
       "garner stats web:8:4 | head -6",
       "garner stats web:8 --check",
       "garner plan uniform:8 --algorithm bfs --device cpu | head -3",
       "garner components uniform:8:4 --verify | grep components",
       "garner bfs kron:40",
       "garner bfs ./kron:8",
       "garner sssp kron:8",
       "garner bfs kron:20 --memory-limit 1MiB",
       "ls"});
}

TEST(golden, bfs) {
  expect_golden(
      "bfs",
      {"printf '0 1\\n0 2\\n1 3\\n3 4\\n9 8\\n' > tree.el && garner convert tree.el tree.gnr > log",
       "garner bfs tree.gnr --source 0 --verify --out tree.txt && cat tree.txt",
       "garner bfs tree.gnr --source 0 --device simulated --tier managed",
       "garner bfs tree.gnr --source 0 --device simulated --json --verify", "garner bfs tree.gnr --source 4",
       "garner bfs tree.gnr --source 5 --tier managed --json", "garner bfs tree.gnr --trials 4 --seed 3 --save-sources s.txt && cat s.txt",
       "garner bfs tree.gnr --sources s.txt --verify --levels --out last.txt",
       "printf '# two\\n9\\n\\n 0 # here\\n' > s.txt && garner bfs tree.gnr --sources s.txt",
       "garner generate kron --scale 10 k.gnr --id-bytes 8 > log", "garner bfs k.gnr --device simulated --trials 2 --verify", "ls"});
}

TEST(golden, reorder) {
  expect_golden("reorder",
                {"printf '1 2 5\\n1 3 1\\n3 4 2\\n4 9 1\\n9 8 3\\n4 1 7\\n' > t.wel && garner convert t.wel t.gnr --in-edges > log",
                 "garner reorder t.gnr degree.gnr",
                 "garner reorder t.gnr bfs.gnr --by bfs",
                 "garner reorder bfs.gnr random.gnr --by random --seed 2",
                 "garner stats degree.gnr --check",
                 "garner stats bfs.gnr --json | grep -E '\"(order|id_map)'",
                 "garner convert degree.gnr degree.wel && cat degree.wel",
                 "garner convert degree.gnr wide.gnr --id-bytes 8",
                 "for g in t degree bfs random wide; do garner bfs $g.gnr --source 4 --out $g.txt > log; done",
                 "cat t.txt && cmp t.txt degree.txt && cmp t.txt bfs.txt && cmp t.txt random.txt && cmp t.txt wide.txt",
                 "for g in t degree bfs random; do garner sssp $g.gnr --seed 3 --out $g.txt > log; done",
                 "cat t.txt && cmp t.txt degree.txt && cmp t.txt bfs.txt && cmp t.txt random.txt",
                 "for g in t degree bfs random; do garner components $g.gnr --out $g.txt > log; done",
                 "cat t.txt && cmp t.txt degree.txt && cmp t.txt bfs.txt && cmp t.txt random.txt",
                 "garner bfs random.gnr --source 10",
                 "garner reorder random.gnr back.gnr --by natural && cmp t.gnr back.gnr",
                 "garner reorder t.gnr x.gnr --by size",
                 "garner reorder t.gnr t.gnr",
                 "garner reorder t.gnr x.el",
                 "garner reorder t.wel x.gnr",
                 "garner reorder t.gnr x.gnr --memory-limit 256",
                 "ls"});
}

TEST(golden, stats) {
  expect_golden("stats", {"garner generate kron --scale 8 --edge-factor 4 k.gnr > log", "garner stats k.gnr --check",
                          "garner stats k.gnr | tail -5", "garner stats k.gnr --json"});
}

TEST(golden, loading) {
  expect_golden(
      "loading",
      {"garner sample kron:10 --fanout 5,3 --batch 100 --share 100% --device simulated --verify",
       "garner load kron:10 --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --feature-cache 10% --score degree "
       "--epochs 2 --verify",
       "garner load kron:10 --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --batches 3 --state s.txt --json",
       "cat s.txt",
       "garner load kron:10 --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --resume s.txt",
       "garner load kron:10 --width 16 --fanout 5,3 --batch 99 --share 100% --device simulated --resume s.txt",
       "printf '1 2\\n2 3\\n3 1\\n4 2\\n' > d.el && garner convert d.el d.gnr --directed",
       "garner sample d.gnr --fanout -1 --share 100% --device simulated --verify",
       "garner sample kron:10 --fanout 5,3 --batch 100 --share 100% --device simulated --graph-cache 20% --score degree --verify",
       "garner load kron:10 --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --graph-cache 8KiB --feature-cache 10% "
       "--verify",
       "garner plan kron:10 --algorithm load --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --feature-cache 10%",
       "garner plan kron:10 --algorithm load --width 16 --fanout 5,3 --batch 100 --share 100% --device simulated --graph-cache 20%",
       "garner plan kron:10 --algorithm load --width 16 --device cpu",
       "garner plan kron:10 --algorithm load --width 16 --device-memory 4MiB",
       "garner load kron:10",
       "garner load kron:10 --width 4 --strategy quick",
       "garner load kron:10 --width 4 --feature-cache 101%",
       "garner sample kron:10 --graph-cache 20x%",
       "garner plan kron:10 --algorithm bfs --graph-cache 1KiB",
       "garner sample kron:10 --weighted",
       "garner sample kron:10 --fanout 3,x"});
}

// With Garner's own GEMM: a BLAS rounds differently by processor.
TEST(golden, training) {
  expect_golden(
      "training",
      {"export GARNER_BLAS=none; garner train g.gnr --features x.npy --labels y.npy --split s.npy --fanout 3,3 --batch 32 --epochs 3 -o "
       "m.safetensors --checkpoint c.ckpt",
       "export GARNER_BLAS=none; garner train g.gnr --features x.npy --labels y.npy --split s.npy --fanout 3,3 --batch 32 --epochs 4 "
       "--resume c.ckpt",
       "export GARNER_BLAS=none; garner train g.gnr --features x.npy --labels y.npy --split s.npy --full --model gcn --epochs 2 --device "
       "simulated --json",
       "export GARNER_BLAS=none; garner predict g.gnr --features x.npy --model m.safetensors -o p.npy",
       "export GARNER_BLAS=none; garner predict g.gnr --features x.npy --model m.safetensors --classes-only -o p.npy --json",
       "garner train g.gnr --features x.npy --labels y.npy --split s.npy --fanout 3,3 --batch 32 --resume c.ckpt --seed 2",
       "head -c 300 c.ckpt > cut; garner train g.gnr --features x.npy --labels y.npy --split s.npy --fanout 3,3 --batch 32 --resume cut",
       "garner train g.gnr --features x.npy --labels y.npy --split y.npy --epochs 9 --patience 3",
       "garner plan kron:10 --algorithm train --width 16 --classes 4 "
       "--fanout 5,3 --batch 100 --share 100% --device simulated",
       "garner plan kron:10 --algorithm train --width 16 --classes 4 "
       "--fanout 5,3 --batch 100 --share 100% --devices 0,1 --device-memory 1GiB",
       "garner plan kron:10 --algorithm train --width 16 --classes 4 --full "
       "--device-memory 1GiB",
       "garner predict g.gnr --features x.npy --model c.ckpt -o p.npy", "ls"},
      [](folder const& at) { write_communities(at); });
}

TEST(golden, plan_of_several_types) {
  expect_golden("plan_types",
                {"garner convert in g.json --undirected > log",
                 "garner plan g.json --algorithm load --fanout 5,3 --batch 16 --device simulated --feature-cache 1KiB",
                 "garner plan g.json --algorithm train --fanout 5,3 --batch 16 --device-memory 1GiB --tier host",
                 "garner plan g.json --algorithm train --full --device cpu", "garner plan g.json --algorithm train --model gin",
                 "garner plan g.json --algorithm train --feature-cache 10%", "garner plan g.json --algorithm load --share 10%",
                 "garner plan g.json --algorithm load --target author", "garner plan g.json --algorithm train --device-memory 8KiB"},
                write_library);
}

TEST(golden, plan) {
  expect_golden(
      "plan",
      {"garner generate kron --scale 10 --random-weights 1:9 k.gnr > log", "garner plan k.gnr --algorithm bfs --device simulated",
       "garner plan k.gnr --algorithm sssp --device simulated", "garner plan k.gnr --algorithm components --device simulated",
       "garner plan k.gnr --algorithm pagerank --device simulated --iterations 20",
       "garner plan k.gnr --algorithm bfs --device simulated --tier managed", "garner plan k.gnr --algorithm bfs --device cpu",
       "garner plan k.gnr --algorithm bfs --device cpu --memory-limit 100K", "garner plan k.gnr --algorithm components --variant pull"});
}

TEST(golden, bad_input) {
  expect_golden("bad_input",
                {"garner generate kron --scale 8 g.gnr > log",
                 "garner bfs missing.gnr",
                 "garner bfs .",
                 "printf 'not a graph file' > text.gnr; garner bfs text.gnr",
                 ": > empty.gnr; garner bfs empty.gnr",
                 "head -c 9000 g.gnr > cut.gnr; garner bfs cut.gnr; garner stats cut.gnr --check",
                 "cp g.gnr flipped.gnr; printf XX | dd of=flipped.gnr bs=1 seek=9001 conv=notrunc 2>log; garner bfs flipped.gnr",
                 "printf '0 1\\n' > e.el; garner bfs e.el",
                 "GARNER_STREAMS=foo garner bfs g.gnr --device simulated",
                 "garner bfs g.gnr --source 256",
                 "garner bfs g.gnr --source -1",
                 "garner bfs g.gnr --source one",
                 "garner bfs g.gnr --source 1 --trials 3",
                 "garner bfs g.gnr --sources none.txt",
                 "printf '1\\ntwo\\n' > s.txt; garner bfs g.gnr --sources s.txt",
                 ": > s.txt; garner bfs g.gnr --sources s.txt",
                 "garner bfs g.gnr --trials 0",
                 "garner bfs g.gnr --trials 18446744073709551615",
                 "garner components g.gnr --first-neighbors 4294967296",
                 "garner bfs g.gnr --access merged",
                 "garner bfs g.gnr --variant emogi",
                 "garner load g.gnr --width 4 --reads kernels",
                 "garner bfs g.gnr --tier device",
                 "garner bfs g.gnr --tier shelf",
                 "garner bfs g.gnr --device moon",
                 "garner bfs g.gnr --memory-limit 8K",
                 "garner bfs g.gnr --memory-limit many",
                 "garner bfs g.gnr --device-memory 1G",
                 "garner bfs g.gnr --out nowhere/o.txt",
                 "garner bfs g.gnr --out /dev/null",
                 "garner bfs g.gnr --out ./g.gnr",
                 "garner bfs g.gnr --out same.txt --save-sources same.txt",
                 "garner demo --scale 7",
                 "TMPDIR=/nowhere garner demo --scale 8",
                 "garner convert missing.el m.gnr",
                 "garner convert e.el",
                 "garner convert e.el m.png",
                 "garner convert e.el m.csv",
                 "garner convert e.el m.gnr.gz",
                 "garner convert e.el m.el --from gnr",
                 "garner convert e.el m.gnr --directed --undirected",
                 "garner convert e.el m.gnr --memory-limit 1K",
                 "garner convert e.el m.gnr --id-bytes 3",
                 "garner convert e.el m.wel",
                 "printf '0 x\\n' > x.el; garner convert x.el m.gnr",
                 "printf '0 -1\\n' > x.el; garner convert x.el m.gnr",
                 "printf '0\\n' > x.el; garner convert x.el m.gnr",
                 "printf '0 18446744073709551616\\n' > x.el; garner convert x.el m.gnr",
                 "printf '0 1\\n' | gzip | head -c 12 > x.el.gz; garner convert x.el.gz m.gnr",
                 ": > none.el; garner convert none.el none.gnr --allow-empty > log; garner bfs none.gnr; garner bfs none.gnr --source 0",
                 "ls"});
}

}  // namespace
}  // namespace garner::testing
