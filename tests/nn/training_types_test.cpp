// Training and exact inference over several types: scores against an independent serial reference, learning, model files, checkpoints,
// ranks, and rejected input.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "core/random.hpp"
#include "files/npy_head.hpp"
#include "garner/gnn.hpp"
#include "garner/hetero.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::uint64_t authors = 90, papers = 140, author_width = 5, paper_width = 7, classes = 3;

// In the layout of IGB: authors write papers, papers cite papers, both with reverse edges.
struct data {
  fs::path folder = fs::temp_directory_path() / fmt::format("garner-types-{}", ::getpid()), manifest = folder / "g.json";
  std::vector<float> author_rows, paper_rows;
  std::vector<std::int64_t> labels;
  std::vector<std::uint8_t> split;

  template <class T>
  void write(std::string const& name, char const* type, std::uint64_t rows, std::uint64_t columns, std::vector<T> const& values) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream out(folder / name, std::ios::binary);
    out << (columns ? npy_head(type, rows, columns) : npy_head(type, rows));
    out.write(reinterpret_cast<char const*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(T)));
  }
  data() {
    fs::remove_all(folder);
    std::vector<std::int64_t> writes, cites;
    for (std::uint64_t i = 0; i < 700; ++i) {  // authors mostly write in their own class
      std::uint64_t const p = random_bits(1, 0, i) % papers;
      std::uint64_t a = random_bits(1, 1, i) % authors;
      if (i % 4) a = a / classes * classes + p % classes;
      writes.push_back(static_cast<std::int64_t>(a)), writes.push_back(static_cast<std::int64_t>(p));
    }
    for (std::uint64_t i = 0; i < 400; ++i)
      cites.push_back(static_cast<std::int64_t>(random_bits(1, 2, i) % papers)),
          cites.push_back(static_cast<std::int64_t>(random_bits(1, 3, i) % papers));
    for (std::uint64_t v = 0; v < authors; ++v)
      for (std::uint64_t c = 0; c < author_width; ++c)
        author_rows.push_back(unit_float(random_bits(2, v, c)) + (c == v % classes ? 1.0f : 0.0f));
    for (std::uint64_t v = 0; v < papers; ++v)
      for (std::uint64_t c = 0; c < paper_width; ++c) paper_rows.push_back(unit_float(random_bits(3, v, c)));
    std::vector<std::int64_t> train, valid, test;
    for (std::uint64_t v = 0; v < papers; ++v) {
      labels.push_back(static_cast<std::int64_t>(v % classes));
      split.push_back(static_cast<std::uint8_t>(v % 5 == 3 ? 2 : v % 5 == 4 ? 3 : 1));
      (v % 5 == 3 ? valid : v % 5 == 4 ? test : train).push_back(static_cast<std::int64_t>(v));
    }
    write("processed/author__writes__paper/edge_index.npy", "<i8", writes.size() / 2, 2, writes);
    write("processed/paper__cites__paper/edge_index.npy", "<i8", cites.size() / 2, 2, cites);
    write("processed/author/node_feat.npy", "<f4", authors, author_width, author_rows);
    write("processed/paper/node_feat.npy", "<f4", papers, paper_width, paper_rows);
    write("processed/paper/node_label.npy", "<i8", papers, 0, labels);
    write("processed/paper/train.npy", "<i8", train.size(), 0, train);
    write("processed/paper/valid.npy", "<i8", valid.size(), 0, valid);
    write("processed/paper/test.npy", "<i8", test.size(), 0, test);
    hetero_options o;
    o.undirected = true;
    convert_hetero(folder, manifest, o);
  }
  ~data() { fs::remove_all(folder); }
};
data const& all() {
  static data const one;
  return one;
}

// The aggregation of a model: reversed, weighted (if graph files have weights), backward over whole lists.
struct manner {
  edge_direction side = edge_direction::in;
  bool weighted = false, both = false;
};
// The same dataset file, whose graph files have weights of 1 to 9 per edge.
fs::path weighted_manifest() {
  static fs::path const made = [] {
    fs::path const file = all().folder / "w.json", lists = all().folder / "g.garner";
    fs::path const to = all().folder / "w.garner";
    fs::create_directories(to);
    for (auto const& e : fs::directory_iterator(lists)) {
      if (e.path().extension() != ".gnr") {
        fs::copy(e.path(), to / e.path().filename());
        continue;
      }
      build_options o;
      o.random_weights = build_options::weight_options{weight_kind::u32, 1, 9, 1};
      convert_graph(e.path(), to / e.path().filename(), o);
    }
    std::ifstream in(all().manifest);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    for (std::size_t at; (at = text.find("g.garner/")) != text.npos;) text.replace(at, 9, "w.garner/");
    std::ofstream(file) << text;
    return file;
  }();
  return made;
}

struct lesson {
  manner how;
  hetero_graph g;
  std::vector<tiered_tensor> tables;
  std::optional<gnn_model> model;
  std::optional<training> run;

  static hetero_graph open(execution_device where, manner const& how) {
    open_options o;
    o.device = where;
    o.in_edges = how.both || how.side == edge_direction::out, o.weights = how.weighted;
    return hetero_graph::open(how.weighted ? weighted_manifest() : all().manifest, o);
  }
  std::vector<tiered_tensor*> features() {
    std::vector<tiered_tensor*> each;
    for (tiered_tensor& t : tables) each.push_back(&t);
    return each;
  }
  explicit lesson(execution_device where, bool norm = false, bool residual = false, manner of = {}) : how(of), g(open(where, of)) {
    tiered_options t;
    t.device = where;
    for (vertex_type const& type : g.types()) {
      bool const paper = type.name == "paper";
      tables.emplace_back(
          row_array{
              paper ? all().paper_rows.data() : all().author_rows.data(), type.count, paper ? paper_width : author_width, element::f32, {}},
          t);
    }
    model_options m;
    m.classes = classes, m.hidden = 8, m.layer_norm = norm, m.residual = residual;
    model.emplace(where, m, types_of(g, g.type("paper"), features(), how.side));
  }
  training& begin(training_options o) {
    o.side = how.side, o.weighted |= how.weighted;
    labeled_nodes known;
    known.labels = {all().labels.data(), papers, 1, element::i64, {}};
    known.split = all().split;
    return run.emplace(*model, g, features(), known, o);
  }
  inference_report told;
  std::vector<float> scores(std::optional<std::uint64_t> near = {}) {
    std::vector<float> s(papers * classes);
    inference_options o;
    o.memory_limit = near;
    o.math = dense_math::f32, o.side = how.side, o.weighted = how.weighted;
    told = infer(*model, g, features(), s, o);
    return s;
  }
  std::vector<float> values() const {
    std::vector<float> flat;
    for (auto const& t : model->tensors()) flat.insert(flat.end(), t.values.begin(), t.values.end());
    return flat;
  }
};
training_options options() {
  training_options o;
  o.fanouts = {5, 4};
  o.batch_size = 16, o.math = dense_math::f32, o.dropout = 0.2;
  return o;
}

std::uint64_t count_of(lesson& l, std::string const& type) { return l.g.types()[l.g.type(type)].count; }
// Two layers by the tensors' names, in f64.
std::vector<double> twin(lesson& l) {
  std::map<std::string, gnn_model::tensor> named;
  for (auto& t : l.model->tensors()) named[t.name] = t;
  using rows = std::vector<std::vector<double>>;
  std::map<std::string, rows> x;
  for (auto const& type : l.g.types()) {
    bool const paper = type.name == "paper";
    std::uint64_t const width = paper ? paper_width : author_width;
    auto const& from = paper ? all().paper_rows : all().author_rows;
    for (std::uint64_t v = 0; v < type.count; ++v)
      x[type.name].emplace_back(from.begin() + static_cast<std::ptrdiff_t>(v * width),
                                from.begin() + static_cast<std::ptrdiff_t>((v + 1) * width));
  }
  auto const add = [](std::vector<double>& to, gnn_model::tensor const& w, std::vector<double> const& row) {
    for (std::uint64_t o = 0; o < w.shape[0]; ++o)
      for (std::uint64_t i = 0; i < w.shape[1]; ++i) to[o] += static_cast<double>(w.values[o * w.shape[1] + i]) * row[i];
  };
  for (std::string const layer : {"convs.0.", "convs.1."}) {
    std::map<std::string, rows> next;
    for (auto const& type : l.g.types()) {
      if (layer == "convs.1." && type.name != "paper") continue;
      auto const& bias = named.at(layer + type.name + ".lin_l.bias");
      for (std::uint64_t v = 0; v < type.count; ++v) {
        std::vector<double> out(bias.values.begin(), bias.values.end());
        add(out, named.at(layer + type.name + ".lin_r.weight"), x[type.name][v]);
        for (std::size_t r = 0; r < l.g.edges().size(); ++r) {
          edge_type const& e = l.g.edges()[r];
          bool const out_side = l.how.side == edge_direction::out;
          std::string const &taker = out_side ? e.from : e.to, &giver = out_side ? e.to : e.from;
          if (taker != type.name) continue;
          adjacency_arrays const lists = adjacency_of(l.g.adjacency(r));  // of `to`, for either side
          auto const& w = named.at(layer + fmt::format("{}__{}__{}", e.from, e.relation, e.to) + ".lin_l.weight");
          std::vector<double> mean(x[giver][0].size());
          double sum = 0;
          for (std::uint64_t u = 0; u < count_of(l, e.to); ++u)
            for (std::uint64_t k = lists.offsets[u]; k < lists.offsets[u + 1]; ++k) {
              std::uint64_t const end = static_cast<std::uint32_t const*>(lists.targets)[k];
              if ((out_side ? end : u) != v) continue;
              double const weight = l.how.weighted ? static_cast<double>(static_cast<std::uint32_t const*>(lists.weights)[k]) : 1;
              sum += weight;
              for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weight * x[giver][out_side ? u : end][i];
            }
          for (double& m : mean) m = sum > 0 ? m / sum : 0;
          add(out, w, mean);
        }
        if (layer == "convs.0.")
          for (double& one : out) one = std::max(one, 0.0);
        next[type.name].push_back(std::move(out));
      }
    }
    x = std::move(next);
  }
  std::vector<double> flat;
  for (auto const& row : x["paper"]) flat.insert(flat.end(), row.begin(), row.end());
  return flat;
}

class types_training : public at_place {};
TEST_P(types_training, exact_scores_are_those_of_a_twin) {
  lesson l(where());
  l.begin(options()).next();
  auto const found = l.scores();
  auto const expected = twin(l);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << i;
}
constexpr manner manners[] = {{edge_direction::out, false, true}, {edge_direction::in, true, true}, {edge_direction::out, true, true}};
TEST_P(types_training, takes_up_the_other_way_round_and_by_weights) {
  for (manner const& how : manners) {
    lesson l(where(), false, false, how);
    l.begin(options()).next();
    auto const found = l.scores();
    auto const expected = twin(l);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 2e-5) << i;
    training_options o = options();
    o.evaluate_every = 15;
    epoch_report last;
    lesson more(where(), false, false, how);
    for (more.begin(o); more.run->epochs() < 15;) last = more.run->next();
    EXPECT_GT(last.exact->test.accuracy, 0.75);
  }
}
// From everything in one piece to one column at a time, with adjacency in parts and sums in host memory.
TEST_P(types_training, scores_in_parts_are_those_of_one_piece) {
  for (bool const deep : {false, true})
    for (manner const& how : {manner{}, manners[0], manners[2]}) {
      lesson l(where(), deep, deep, how);
      l.begin(options()).next();
      auto const whole = l.scores();
      EXPECT_TRUE(l.told.layers.empty());
      std::set<std::string> hows;
      std::uint64_t before = ~std::uint64_t{0}, parts = 0;
      try {
        for (double near = 200000;; near *= 0.93) {
          auto const found = l.scores(static_cast<std::uint64_t>(near));
          if (l.told.layers.empty()) continue;
          ++parts;
          EXPECT_EQ(l.told.layers.size(), deep ? 3u : 2u);
          EXPECT_LE(l.told.device_bytes, static_cast<std::uint64_t>(near));
          EXPECT_GT(l.told.bytes(), 0u);
          for (auto const& layer : l.told.layers) hows.insert(layer.how);
          before = l.told.device_bytes;
          for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], whole[i], 3e-5) << near << " " << i;
        }
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::memory);
        EXPECT_THAT(e.what(), HasSubstr("exact inference of 2 types wants"));
      }
      EXPECT_GT(parts, 3u);
      EXPECT_LT(before, 100000u);
      for (char const* const how :
           {"the rows of a relation local at a time", "the rows of a relation local at a time; the next come meanwhile",
            "some columns of a relation's rows local at a time, sums in host memory"})
        EXPECT_TRUE(hows.contains(how)) << how << ", not in " << ::testing::PrintToString(hows);
    }
  lesson one({}), other({device_kind::simulated});
  auto const small = [](lesson& l) {
    for (std::uint64_t near = 8000;; near += 1000) try {
        return l.scores(near);
      } catch (error const&) {
      }
  };
  EXPECT_TRUE(small(one) == small(other));
  EXPECT_FALSE(one.told.layers.empty());
}
// A full-graph step equals a mini-batch step with all neighbors of all training nodes.
TEST_P(types_training, whole_graph_steps_are_those_of_a_mini_batch_of_all) {
  for (manner how : {manner{edge_direction::in, false, true}, manners[0], manners[1], manners[2]}) {
    training_options o = options();
    o.dropout = 0, o.batch_size = 1000, o.fanouts = {-1, -1};
    lesson drawn(where(), true, false, how), whole(where(), true, false, how);
    drawn.begin(o).next();
    o.fanouts = {};
    auto const r = whole.begin(o).next();
    EXPECT_EQ(r.steps, 1u);
    ASSERT_TRUE(r.exact);
    auto const a = drawn.values(), b = whole.values();
    ASSERT_EQ(a.size(), b.size());
    std::size_t apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) apart += std::abs(a[i] - b[i]) > 2e-4 ? 1 : 0;
    EXPECT_LE(apart, a.size() / 100);  // Adam's first step depends only on a gradient's sign, which rounding flips near 0
    fs::path const kept = all().folder / "whole";
    whole.run->save_checkpoint(kept);
    whole.run->next(), whole.run->next();
    lesson again(where(), true, false, how);
    again.begin(o).load_checkpoint(kept);
    again.run->next(), again.run->next();
    EXPECT_TRUE(again.values() == whole.values());
    EXPECT_GT(whole.run->bytes(), 0u);
  }
}
TEST_P(types_training, has_the_same_bits_with_steps_recorded) {
  for (bool const deep : {false, true})
    for (manner const& how : manners) {
      lesson plain(where(), deep, deep, how), recorded(where(), deep, deep, how);
      training_options o = options();
      o.fanouts = {}, o.weight_decay = 0.01;
      recorded.begin(o);
      o.cuda_graph = false;
      plain.begin(o);
      for (int epoch = 1; epoch <= 5; ++epoch) {
        epoch_report const a = plain.run->next(), b = recorded.run->next();
        EXPECT_EQ(a.loss, b.loss);
        EXPECT_EQ(a.exact->test.loss, b.exact->test.loss);
        EXPECT_EQ(b.captured > 0, runs_later(where()) && epoch > 2);
        EXPECT_EQ(b.not_captured, "");
        EXPECT_TRUE(plain.values() == recorded.values());
      }
    }
}
TEST_P(types_training, learns_what_the_other_type_alone_tells) {
  for (bool const deep : {false, true}) {
    lesson l(where(), deep, deep);
    training_options o = options();
    o.evaluate_every = 15;
    training& run = l.begin(o);
    epoch_report last;
    while (run.epochs() < 15) last = run.next();
    ASSERT_TRUE(last.exact);
    EXPECT_GT(last.exact->test.accuracy, 0.75);
    EXPECT_EQ(last.exact->test.vertices, 28u);
    auto const scores = l.scores();
    std::uint64_t right = 0;
    for (std::uint64_t v = 4; v < papers; v += 5) {
      auto const row = scores.begin() + static_cast<std::ptrdiff_t>(v * classes);
      right += std::max_element(row, row + classes) - row == all().labels[v] ? 1 : 0;
    }
    EXPECT_DOUBLE_EQ(static_cast<double>(right) / 28, last.exact->test.accuracy);
  }
}
TEST_P(types_training, models_and_checkpoints_come_back) {
  fs::path const file = all().folder / "m", kept = all().folder / "c";
  lesson whole(where()), first(where()), second(where());
  training& run = whole.begin(options());
  for (int e = 0; e < 3; ++e) run.next();
  first.begin(options()).next();
  first.run->save_checkpoint(kept);
  second.begin(options()).load_checkpoint(kept);
  second.run->next(), second.run->next();
  EXPECT_TRUE(second.values() == whole.values());
  whole.model->save(file);
  gnn_model const again = gnn_model::load(file, where());
  EXPECT_EQ(again.types(), whole.model->types());
  EXPECT_EQ(again.types().names.size(), 2u);
  EXPECT_EQ(again.types().relations.size(), 3u);
  auto const before = whole.scores();
  whole.run.reset();  // its model must outlive it
  whole.model = gnn_model::load(file, where());
  EXPECT_EQ(whole.scores(), before);
}
GARNER_AT_EVERY_PLACE(types_training);

TEST(types_training, the_same_bits_at_host_and_simulated_and_of_ranks) {
  lesson host({}), simulated({device_kind::simulated});
  host.begin(options()).next();
  simulated.begin(options()).next();
  EXPECT_TRUE(host.values() == simulated.values());
  for (manner const& how : manners) {
    lesson one({}, false, false, how), other({device_kind::simulated}, false, false, how);
    training_options o = options();
    o.fanouts = {};
    one.begin(o).next(), other.begin(o).next();
    EXPECT_TRUE(one.values() == other.values());
    EXPECT_TRUE(one.scores() == other.scores());
  }
  lesson a({}), b({});
  auto const ranks = ranks_of_threads(2);
  {
    std::jthread const other([&] {
      training_options o = options();
      o.ranks = ranks, o.rank = 1;
      b.begin(o).next();
    });
    training_options o = options();
    o.ranks = ranks;
    a.begin(o).next();
  }
  EXPECT_TRUE(a.values() == b.values());
}
TEST(types_training, refuses_what_does_not_go_together) {
  auto const says = [](auto const& f, char const* text) {
    try {
      f();
      ADD_FAILURE() << text;
    } catch (error const& e) {
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  };
  lesson l({});
  auto o = options();
  o.fanouts = {};
  says([&] { l.begin(o); }, "in-edges");
  o = options(), o.weighted = true;
  says([&] { l.begin(o); }, "has no weights");
  l.how.side = edge_direction::out;
  says([&] { l.begin(options()); }, "pulled by `from` (side out), are not the 3");
  l.how.side = edge_direction::in;
  std::vector<tiered_tensor*> const none{nullptr, &l.tables[1]};
  says([&] { types_of(l.g, 0, none); }, "'author' has no features");
  says([&] { types_of(l.g, 2, l.features()); }, "type 2 of 2");
  model_options m;
  m.classes = classes, m.inputs = paper_width;
  says(
      [&] {
        gnn_model gcn(
            {},
            [] {
              model_options k;
              k.kind = model_kind::gcn, k.classes = classes;
              return k;
            }(),
            l.model->types());
      },
      "use sage");
  std::vector<float> scores(papers * classes);
  says([&] { infer(*l.model, l.g.adjacency(0), l.tables[0], scores); }, "the model has several");
  l.model.emplace(execution_device{}, m);
  says([&] { l.begin(options()); }, "the model is of one");
  auto types = types_of(l.g, 1, l.features());
  types.inputs[0] = 6;
  l.model.emplace(execution_device{}, m, types);
  says([&] { l.begin(options()); }, "rows of 'author' have 5 elements, and the model takes 6");
}

}  // namespace
}  // namespace garner
