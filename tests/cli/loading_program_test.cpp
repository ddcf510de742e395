// `garner sample`, `garner load`, `garner plan --algorithm load`: JSON, every mini-batch checked, resumed, refused.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "files/npy_head.hpp"

namespace garner::testing {
namespace {

using nlohmann::json;

std::uint64_t whole(json const& j) { return j.get<std::uint64_t>(); }

TEST(loading_program, samples_and_checks_with_every_option) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate web --scale 9 --random-weights 1:9 w.gnr && garner reorder w.gnr r.gnr --by random && garner convert "
                     "r.gnr p.gnr "
                     "--compress && printf '0 1\\n1 2\\n2 0\\n3 1\\n4 1\\n1 5\\n' > d.el && garner convert d.el d.gnr --directed")
                .code,
            0);
  for (char const* graph : {"w.gnr", "r.gnr", "p.gnr", "d.gnr"})
    for (char const* place : {"cpu", "simulated"})
      for (std::string const how : {"", "--rule all", "--replace", "--disjoint", "--edge-ids", "--side out", "--fanout -1,2",
                                    "--fanout -1,2 --replace --edge-ids", "--weighted", "--labor"}) {
        if (how == "--weighted" && graph == std::string("d.gnr")) continue;
        outcome const o =
            at.shell(std::string("garner sample ") + graph + " --share 50% --batch 40 --fanout 4,3 --epochs 2 --verify --json --device " +
                     place + " " + (how.starts_with("--fanout") ? "" : how));
        ASSERT_EQ(o.code, 0) << graph << " " << how << ": " << o.err;
        json const all = json::parse(o.out);
        EXPECT_EQ(all["verified"], all["batches"]);
        EXPECT_EQ(whole(all["batches"]), 2 * whole(all["batches_per_epoch"]));
        EXPECT_EQ(all["epochs"].size(), 2u);
        EXPECT_EQ(all["ms_mean"].is_null(), place == std::string("simulated"));
        EXPECT_EQ(all["epochs"][0]["bytes_link"].is_null(), place == std::string("cpu"));
        EXPECT_EQ(all["in_edges_built_ms"].is_null(), graph != std::string("d.gnr") || how == "--side out");
      }
  json const some = json::parse(at.shell("garner sample w.gnr --share 100% --batch 20 --fanouts -1,2 --batches 7 --json").out);
  EXPECT_EQ(some["batches"], 7);
  EXPECT_EQ(some["fanouts"][0], -1);
}

TEST(loading_program, loads_in_every_way_and_tells_where_rows_were) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  std::uint64_t vertices = 0;
  for (char const* strategy : {"automatic", "window", "tiered"})
    for (char const* place : {"cpu", "simulated"}) {
      outcome const o = at.shell(
          std::string("garner load k.gnr --width 5 --share 100% --batch 50 --fanout 4,3 --feature-cache 10% --score degree --epochs 2 "
                      "--verify --json --device ") +
          place + " --strategy " + strategy);
      ASSERT_EQ(o.code, 0) << strategy << ": " << o.err;
      json const all = json::parse(o.out);
      EXPECT_EQ(all["verified"], all["batches"]);
      EXPECT_EQ(whole(all["batches"]), 2 * whole(all["batches_per_epoch"]));
      json const& first = all["epochs"][0];
      double const rows = first["local_rows"].get<double>() + first["remote_rows"].get<double>();
      EXPECT_DOUBLE_EQ(rows, first["nodes"].get<double>());
      EXPECT_EQ(first["peer_rows"], 0);
      if (!vertices) vertices = static_cast<std::uint64_t>(first["nodes"].get<double>() * 1000);
      EXPECT_EQ(vertices, static_cast<std::uint64_t>(first["nodes"].get<double>() * 1000));  // the same mini-batches
      bool const simulated = place == std::string("simulated"),
                 windows = simulated && (strategy == std::string("automatic") || strategy == std::string("window"));
      EXPECT_EQ(first["remote_rows"].get<double>() > 0, simulated);
      EXPECT_EQ(first["window_hits"].is_null(), !windows);
      EXPECT_EQ(first["ms_per_batch"].is_null(), simulated);
      if (!simulated) continue;
      EXPECT_EQ(first["remote_bytes"].get<double>() < 20 * first["remote_rows"].get<double>() - 1, windows) << strategy;
    }
}

TEST(loading_program, hands_over_the_users_rows_and_labels) {
  folder const at;
  auto const npy = [&](std::string const& name, std::string const& type, std::string const& shape, std::string const& data) {
    std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head.resize(117, ' ');
    head += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(118), file += '\0';
    at.write(name, file + head + data);
  };
  std::string rows, labels;
  for (std::uint32_t i = 0; i < 256 * 3; ++i) {
    float const x = static_cast<float>(i) / 7;
    rows.append(reinterpret_cast<char const*>(&x), 4);
  }
  for (std::int64_t i = 0; i < 256; ++i) {
    std::int64_t const y = i * i;
    labels.append(reinterpret_cast<char const*>(&y), 8);
  }
  npy("x.npy", "<f4", "256, 3", rows), npy("y.npy", "<i8", "256,", labels), npy("short.npy", "<f4", "255, 3", rows.substr(12));
  for (char const* place : {"cpu", "simulated"}) {
    outcome const o = at.shell(
        std::string("garner load kron:8 --features x.npy --labels y.npy --share 100% --batch 32 --fanout 3,2 --verify --device ") + place);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_NE(o.out.find("256 x 3 f32 (x.npy), 12 B each"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("counts and features"), std::string::npos) << o.out;
  }
  for (char const* kept : {"--feature-cache 10%", "--feature-cache 10% --score sampled", "--graph-cache 10%"})  // by scores of none drawn
    EXPECT_EQ(at.shell("garner load kron:8 --width 3 --share 50% --fanout 0 --verify --device simulated " + std::string(kept)).code, 0)
        << kept;
  outcome const o = at.shell("garner load kron:8 --features short.npy");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("short.npy: 255 rows, and kron:8 has 256 nodes"), std::string::npos) << o.err;
}

TEST(loading_program, goes_on_at_the_very_mini_batch) {
  folder const at;
  std::string const load = "garner load kron:9 --width 2 --share 100% --batch 40 --fanout 3,2 ";
  outcome const first = at.shell(load + "--batches 3 --state s.txt --json");
  ASSERT_EQ(first.code, 0) << first.err;
  json const stopped = json::parse(first.out);
  EXPECT_EQ(stopped["batches"], 3);
  std::string const state = read_text(at / "s.txt");
  EXPECT_EQ(state, stopped["state"].get<std::string>() + "\n");
  EXPECT_EQ(state.find("garner-loader 1 epoch 0 next 3 of "), 0u);
  json const rest = json::parse(at.shell(load + "--epochs 2 --resume s.txt --state t.txt --verify --json").out);
  EXPECT_EQ(whole(rest["batches"]), 2 * whole(rest["batches_per_epoch"]) - 3);
  EXPECT_EQ(whole(rest["epochs"][0]["batches"]), whole(rest["batches_per_epoch"]) - 3);
  EXPECT_EQ(read_text(at / "t.txt").find("garner-loader 1 epoch 2 next 0 of "), 0u);
  auto const refused = [&](std::string const& line, int code, std::string const& what) {
    outcome const o = at.shell(line);
    EXPECT_EQ(o.code, code) << line << ": " << o.err;
    EXPECT_NE(o.err.find(what), std::string::npos) << line << ": " << o.err;
    expect_one_line(o.err);
  };
  refused(load + "--seed 2 --resume s.txt", 1, "--resume s.txt: this state is of another loader");
  refused("garner load kron:9:8 --width 2 --share 100% --batch 40 --fanout 3,2 --resume s.txt", 1, "another loader");
  refused(load + "--resume t.txt", 2, "stopped in epoch 2");
  refused(load + "--resume none.txt", 1, "none.txt: cannot be read");
  refused("printf 'no state\\n' > bad.txt; " + load + "--resume bad.txt", 1, "--resume bad.txt: 'no state");
}

// Ctrl-C in the middle: it ends, and prints where to resume.
TEST(loading_program, stops_at_once_and_keeps_its_place) {
  folder const at;
  how_to_run how;
  how.interrupt_after = std::chrono::milliseconds(1500);
  outcome const o = at.garner({"load", "kron:9", "--width", "2", "--share", "100%", "--batch", "40", "--fanout", "3,2", "--epochs",
                               "100000", "--compute-ms", "5", "--state", "s.txt"},
                              how);
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("interrupted"), std::string::npos) << o.err;
  EXPECT_EQ(read_text(at / "s.txt").find("garner-loader 1 epoch "), 0u);
  EXPECT_EQ(
      at.shell("garner load kron:9 --width 2 --share 100% --batch 40 --fanout 3,2 --epochs 100000 --batches 2 --resume s.txt --verify")
          .code,
      0);
}

TEST(loading_program, refuses) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 8 k.gnr && printf '1\\nx\\n' > bad.txt && printf '99999\\n' > far.txt").code, 0);
  auto const says = [&](std::string const& line, int code, std::string const& what) { expect_refused(at, line, code, what); };
  for (std::string const verb : {"garner sample k.gnr ", "garner load k.gnr --width 3 "}) {
    says(verb + "--fanout 2,x", 2, "2,x");
    says(verb + "--fanout ''", 2, "--fanout");
    says(verb + "--fanout -2", 2, "-2");
    says(verb + "--batch 0", 2, "--batch 0");
    says(verb + "--share 0%", 2, "0%");
    says(verb + "--share 1", 2, "--share 1");
    says(verb + "--train bad.txt", 1, "line 2");
    says(verb + "--train far.txt", 1, "99999");
    says(verb + "--train 1% --share 1%", 2, "--share");
    says(verb + "--rule most", 2, "all");
    says(verb + "--side up", 2, "--side up");
    says(verb + "--weighted", 1, "has no weights");
    says(verb + "--epochs 0", 2, "--epochs 0");
    says(verb + "--batches 0", 2, "--batches 0");
    says(verb + "--access copied", 2, "--access");
    says(verb + "--tier device", 2, "device");
    says(verb + "--memory-limit 4KiB", 1, "needs about");
  }
  says("garner load k.gnr", 2, "--features FILE.npy");
  says("garner load k.gnr --width 0", 2, "--width 0");
  says("garner load k.gnr --width 3 --features x.npy", 2, "--width");
  says("garner load k.gnr --features none.npy", 1, "none.npy");
  says("garner load k.gnr --width 3 --labels none.npy", 1, "none.npy");
  says("garner load k.gnr --width 3 --strategy fast", 2, "--strategy fast: use automatic, window or tiered");
  says("garner load k.gnr --width 3 --window 65", 2, "--window 65");
  says("garner load k.gnr --width 3 --prefetch 0", 2, "--prefetch 0");
  says("garner load k.gnr --width 3 --feature-cache 110%", 2, "110%");
  says("garner load k.gnr --width 3 --score size", 2, "wrpr");
  says("garner load k.gnr --width 3 --compute-ms -1", 2, "--compute-ms");
  says("garner load k.gnr --width 3 --state k.gnr", 2, "the graph itself");
  says("printf '0 0\\n' > l.el && garner convert l.el l.gnr --keep-ids >/dev/null && garner sample l.gnr", 1, "no node has neighbors");
}

TEST(loading_program, plans_before_it_loads) {
  folder const at;
  ASSERT_EQ(
      at.shell("garner generate kron --scale 12 --random-weights 1:9 k.gnr && printf '0 1\\n1 2\\n2 0\\n' > d.el && garner convert d.el "
               "d.gnr --directed")
          .code,
      0);
  auto const plan = [&](std::string const& line) {
    outcome const o = at.shell("garner plan " + line + " --algorithm load --json");
    EXPECT_EQ(o.code, 0) << line << ": " << o.err;
    return o.code ? json() : json::parse(o.out);
  };
  json const far = plan("k.gnr --width 16 --share 100% --batch 128 --device simulated");
  json const ran = json::parse(at.shell("garner load k.gnr --width 16 --share 100% --batch 128 --device simulated --json").out);
  EXPECT_EQ(far["training_nodes"], ran["training_nodes"]);
  EXPECT_EQ(far["batches_per_epoch"], ran["batches_per_epoch"]);
  EXPECT_NEAR(far["edges_per_batch"].get<double>(), ran["all"]["edges"].get<double>(), 0.25 * ran["all"]["edges"].get<double>());
  EXPECT_TRUE(far["from_offsets"].get<bool>());
  EXPECT_EQ(whole(far["together"]["bytes_link"]), whole(far["sample"]["bytes_link"]) + whole(far["fetch"]["bytes_link"]));
  EXPECT_GT(far["together"]["ms"]["51"].get<double>(), 0);
  std::uint64_t host = 0;
  for (json const& r : far["memory"]) host += r["tier"] == "host" ? whole(r["bytes"]) : 0;
  EXPECT_EQ(host, whole(far["host_bytes"]));
  json const kept = plan("k.gnr --width 16 --share 100% --batch 128 --device simulated --feature-cache 10% --window 4");
  EXPECT_LT(kept["remote_rows"].get<double>(), far["remote_rows"].get<double>());
  EXPECT_EQ(kept["feature_cache_rows"], 409);
  EXPECT_GT(plan("k.gnr --width 16 --weighted --device simulated")["sample"]["bytes_link"],
            plan("k.gnr --width 16 --device simulated")["sample"]["bytes_link"]);
  EXPECT_EQ(plan("k.gnr --width 16 --device cpu")["together"]["bytes_link"], 0);
  EXPECT_EQ(plan("k.gnr --width 16 --device-memory 1GiB")["tier"], "device");  // all of it fits
  EXPECT_EQ(plan("k.gnr --width 16 --device-memory 1GiB --tier host")["tier"], "host");
  EXPECT_FALSE(plan("d.gnr --width 16 --device cpu")["from_offsets"].get<bool>());
  EXPECT_TRUE(plan("d.gnr --width 16 --device cpu --side out")["from_offsets"].get<bool>());
  auto const says = [&](std::string const& line, int code, std::string const& what) {
    expect_refused(at, "garner plan " + line + " 2>err; c=$?; cat err >&2; exit $c", code, what);
  };
  says("k.gnr --algorithm load", 2, "--features FILE.npy");
  says("k.gnr --algorithm load --width 3 --variant levels", 2, "--variant goes with other algorithms");
  says("k.gnr --algorithm load --width 3 --window 65", 2, "--window 65");
  says("k.gnr --algorithm bfs --feature-cache 10%", 2, "--feature-cache goes with --algorithm load");
  says("d.gnr --algorithm load --width 3 --weighted", 1, "has no weights");
  says("k.gnr --algorithm load --width 4096 --memory-limit 8MiB", 1, "k.gnr: needs about");
  says("k.gnr --algorithm load --width 4096 --device-memory 8MiB", 1, "k.gnr: needs about");
  // The command refuses like its plan does, before it allocates anything.
  outcome const o = at.shell("garner load k.gnr --width 16 --device simulated --memory-limit 1MiB");
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.err.find("garner: k.gnr: needs about"), 0u) << o.err;
}

TEST(loading_program, loads_rows_that_stay_in_their_file) {
  folder const at;
  ASSERT_EQ(at.shell("garner generate kron --scale 10 k.gnr").code, 0);
  std::vector<float> rows(1024 * 24);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  at.write("x.npy", npy_head("<f4", 1024, 24) + std::string(reinterpret_cast<char const*>(rows.data()), rows.size() * 4));
  ASSERT_EQ(at.shell("garner convert x.npy x.gnt --quiet").code, 0);
  for (std::string const file : {"x.npy --feature-tier file", "x.gnt"})
    for (std::string const place : {"cpu", "simulated"})
      for (std::string const more : {"", "--cache-policy pinned", "--cache-policy pinned --window 1 --window-bytes 9KiB"}) {
        outcome const o =
            at.shell("garner load k.gnr --features " + file + " --host-cache 60% --file-cache 48KiB --share 100% --batch 50 " +
                     "--fanout 4,3 --epochs 2 --verify --json --device " + place + " " + more);
        ASSERT_EQ(o.code, 0) << file << " " << more << ": " << o.err;
        json const all = json::parse(o.out);
        EXPECT_EQ(all["verified"], all["batches"]);
        json const& e = all["epochs"][1];
        EXPECT_GT(e["file_rows"].get<double>(), 0);
        EXPECT_LE(e["file_reads"].get<double>(), e["file_rows"].get<double>());
        EXPECT_NEAR(e["local_rows"].get<double>() + e["remote_rows"].get<double>() + e["file_rows"].get<double>(), e["nodes"].get<double>(),
                    1e-6);
        EXPECT_EQ(e["file_gbs"].is_null(), place == "simulated");
        for (std::string const score : {"degree", "rpr", "wrpr", "expected", "sampled"}) {  // also with adjacency in the file
          outcome const both =
              at.shell("garner load k.gnr --features " + file + " --host-cache 60% --file-cache 48KiB --share 100% --batch 50 " +
                       "--fanout 4,3 --batches 9 --verify --json --tier file --device " + place + " " + more + " --score " + score);
          ASSERT_EQ(both.code, 0) << file << " " << more << " " << score << ": " << both.err;
          EXPECT_EQ(json::parse(both.out)["verified"], 9);
        }
      }
  outcome const said =
      at.shell("garner load k.gnr --features x.gnt --host-cache 60% --file-cache 48KiB --share 100% --batch 50 --fanout 4,3");
  EXPECT_NE(said.out.find("from the file "), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("cache policy next-use"), std::string::npos) << said.out;
  // A plan compared with the actual reads.
  std::string const what =
      "--features x.npy --feature-tier file --host-cache 60% --file-cache 48KiB --share 100% --batch 50 --fanout 4,3 --json ";
  auto const told = [&](std::string const& line) {
    outcome const o = at.shell("garner plan k.gnr " + what + line);
    EXPECT_EQ(o.code, 0) << o.err;
    return o.code ? json() : json::parse(o.out);
  };
  json const ran = json::parse(at.shell("garner load k.gnr " + what + "--score degree").out),
             plan = told("--algorithm load --drive-reads 1000");
  auto const number = [](json const& j) { return j.get<double>(); };
  EXPECT_NEAR(number(plan["drive"]["file_rows"]), number(ran["all"]["file_rows"]), 0.25 * number(ran["all"]["file_rows"]));
  EXPECT_LE(number(plan["drive"]["file_reads"]), number(plan["drive"]["file_rows"]));
  EXPECT_NEAR(number(plan["drive"]["ms"]), number(plan["drive"]["file_reads"]), 1e-6);  // a thousand a second
  EXPECT_NEAR(number(plan["drive"]["epoch_ms"]), number(plan["drive"]["ms"]) * number(plan["batches_per_epoch"]), 1e-6);
  double host = 0, filed = 0;
  for (json const& r : plan["memory"]) (r["tier"] == "file" ? filed : host) += r["tier"] == "device" ? 0 : number(r["bytes"]);
  EXPECT_EQ(host, number(plan["host_bytes"]));
  EXPECT_NEAR(filed, 1024 * 96 * 0.4 + 48 * 1024, 200);            // what neither half holds for good
  EXPECT_TRUE(told("--algorithm load")["drive"]["ms"].is_null());  // too small to be measured
  for (auto const& [reads, bound] : {std::pair("10", "drive"), std::pair("100000000000", "link")}) {
    json const train =
        told(std::string("--algorithm train --classes 3 --device cuda --device-memory 1GiB --tier host --drive-reads ") + reads);
    EXPECT_EQ(train["training"]["bound_by"]["12.3"], bound);
    EXPECT_GT(number(train["training"]["reads"][1]["epoch"]["file_bytes"]), 0);
  }
  std::string const words = at.shell("garner plan k.gnr --features x.gnt --host-cache 60% --algorithm load --drive-reads 1000").out;
  EXPECT_NE(words.find("from the file, per mini-batch: "), std::string::npos) << words;
  EXPECT_EQ(at.shell("garner plan k.gnr --algorithm bfs --feature-tier file").code, 2);
  outcome const none = at.shell("garner load k.gnr --width 5 --feature-tier file");
  EXPECT_EQ(none.code, 2);
  EXPECT_NE(none.err.find("in which file? Name it with --features"), std::string::npos) << none.err;
}

}  // namespace
}  // namespace garner::testing
