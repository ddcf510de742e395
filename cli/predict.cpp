// garner predict: what a trained model says of every vertex.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command/common.hpp"
#include "command/sample_options.hpp"
#include "files/npy_head.hpp"
#include "garner/convert.hpp"
#include "garner/files.hpp"
#include "garner/gnn.hpp"
#include "models.hpp"
#include "verbs.hpp"

namespace garner {

namespace {

using cli::grouped;
using json = nlohmann::ordered_json;

struct predict_arguments : cli::sample_arguments, cli::row_arguments {
  std::string features, model, out, embeddings, side = "in", math = "tf32", near_bytes;
  bool weighted = false, classes = false;
};

// GB/s over all the layers.
double rate(inference_report const& r) { return r.ms > 0 ? static_cast<double>(r.bytes()) / r.ms / 1e6 : 0; }
void add_report(json& out, inference_report const& r) {
  json layers = json::array();
  for (auto const& l : r.layers)
    layers.push_back({{"mode", l.how},
                      {"ms", l.ms},
                      {"input_ms", l.rows_ms},
                      {"output_ms", l.targets_ms},
                      {"bytes_in", l.rows_in},
                      {"bytes_out", l.rows_out},
                      {"adjacency_bytes", l.lists}});
  auto const maybe = [](std::optional<double> x) { return x ? json(*x) : json(nullptr); };
  std::optional<double> const least = r.floor_ms();
  out.update(json{{"ms", r.ms},
                  {"prepare_ms", r.prepare_ms},
                  {"layers", layers},
                  {"adjacency_bytes", r.lists},
                  {"bytes", r.bytes()},
                  {"gbs", rate(r)},
                  {"local_bytes", r.device_bytes},
                  {"floor_bytes", r.floor_bytes},
                  {"link_gbs", maybe(r.link_gbs)},
                  {"floor_ms", maybe(least)},
                  {"percent_of_floor", maybe(least ? std::optional(100 * r.ms / *least) : std::nullopt)}});
}
void say_report(inference_report const& r) {
  for (std::size_t l = 0; l < r.layers.size(); ++l)
    cli::say("layer {:>2}: {:>9.1f} ms, {:>8.3f} GB in, {:>8.3f} out; {}\n", l + 1, r.layers[l].ms,
             static_cast<double>(r.layers[l].rows_in + r.layers[l].lists) / 1e9, static_cast<double>(r.layers[l].rows_out) / 1e9,
             r.layers[l].how);
  cli::say("all     : {:>9.1f} ms ({:.1f} before the layers), {:.1f} GB/s between host and GPU memory{}\n", r.ms, r.prepare_ms, rate(r),
           r.floor_ms() ? fmt::format("; {:.0f} % of the {:.1f} ms to move the features of each layer once", 100 * r.ms / *r.floor_ms(),
                                      *r.floor_ms())
                        : "");
}
gnn_model read_model(predict_arguments const& a, execution_device where) {
  if (!a.out.ends_with(".npy")) cli::fail(errc::usage, "--out {}: is written as .npy; end its name so", a.out);
  gnn_model model = gnn_model::load(a.model, where);
  model_options const& o = model.options();
  if (a.classes && o.labels != label_kind::single_label)
    cli::fail(errc::usage, "--classes-only: this model is multi-label, with {} labels per node; leave it out to get their scores",
              o.classes);
  if (a.embeddings.empty()) return model;
  if (!a.embeddings.ends_with(".npy") && !a.embeddings.ends_with(".gnt"))
    cli::fail(errc::usage, "--embeddings {}: is written as .npy or .gnt; end its name so", a.embeddings);
  if (o.layers == 1 && !o.residual)
    cli::fail(errc::usage, "--embeddings: this model is one layer, from features to classes, and has none; train one with --layers 2");
  return model;
}
std::string_view bytes_of(auto const& all) { return {reinterpret_cast<char const*>(all.data()), all.size() * sizeof all[0]}; }
void write_embeddings(predict_arguments const& a, std::vector<float> const& rows, std::uint64_t width) {
  if (a.embeddings.empty()) return;
  bool const pages = a.embeddings.ends_with(".gnt");
  std::string const plain = pages ? a.embeddings + ".npy" : a.embeddings;
  write_file(plain, npy_head("<f4", rows.size() / width, width), bytes_of(rows));
  if (!pages) return;
  struct removal {
    std::string const& file;
    ~removal() {
      std::error_code none;
      std::filesystem::remove(file, none);
    }
  } const behind{plain};
  convert_rows(plain, a.embeddings, {});
}
// `r`: of one type.
void write_scores(predict_arguments const& a, gnn_model const& model, std::vector<float> const& scores,
                  inference_report const* r = nullptr) {
  std::uint64_t const classes = model.options().classes, n = scores.size() / classes;
  bool const one = model.options().labels == label_kind::single_label;
  std::vector<std::int64_t> found(one ? n : 0);
  std::vector<std::uint64_t> count(one ? classes : 0);
  for (std::uint64_t v = 0; v < found.size(); ++v) {
    auto const row = scores.begin() + static_cast<std::ptrdiff_t>(v * classes);
    found[v] = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row;
    ++count[static_cast<std::size_t>(found[v])];
  }
  if (a.classes) write_file(a.out, npy_head("<i8", n), bytes_of(found));
  else write_file(a.out, npy_head("<f4", n, classes), bytes_of(scores));
  if (a.json) {
    json out{{"file", a.file},
             {"nodes", n},
             {"classes", classes},
             {"out", a.out},
             {"embeddings", a.embeddings.empty() ? json(nullptr) : json(a.embeddings)},
             {"found", count}};
    if (r) add_report(out, *r);
    cli::say("{}\n", out.dump(2));
    return;
  }
  if (r) say_report(*r);
  cli::say("{}: {} of {} nodes, by ascending id\n", a.out, a.classes ? "the class" : fmt::format("scores of {} classes", classes),
           grouped(n));
  if (!a.embeddings.empty())
    cli::say("{}: rows of {} elements of {} nodes, by ascending id\n", a.embeddings, model.options().hidden, grouped(n));
  for (std::size_t c = 0; c < count.size() && c < 20; ++c) cli::say("class {:>4}: {:>12}\n", c, grouped(count[c]));
}

void predict_types(predict_arguments& a) {
  if (!a.features.empty()) cli::fail(errc::usage, "--features {}: {} names features itself; leave it out", a.features, a.file);
  cli::check_outputs(a.file, {{"--out", a.out}, {"--embeddings", a.embeddings}});
  execution_device const where = a.where();
  a.budgets.apply(where);
  gnn_model model = read_model(a, where);
  if (model.types().names.empty())
    cli::fail(errc::input, "{}: a model of one type, and {} is a dataset file; name a graph file, or train on the dataset file", a.model,
              a.file);
  inference_options o;
  o.side = a.side == "in" ? edge_direction::in : edge_direction::out, o.weighted = a.weighted;
  o.math = parse_dense_math(a.math);
  cli::opened_types on = cli::open_types(a.file, where, a.tier, {o.side, o.weighted}, std::nullopt, a);
  std::vector<float> scores(on.tables.at(model.types().target).rows() * model.options().classes);
  if (!a.near_bytes.empty()) o.memory_limit = parse_bytes(a.near_bytes);
  std::uint64_t const hidden = model.options().hidden;
  std::vector<float> rows(a.embeddings.empty() ? 0 : on.tables.at(model.types().target).rows() * hidden);
  o.embeddings = rows;
  inference_report const r = infer(model, on.g, on.features(), scores, o);
  write_embeddings(a, rows, hidden);
  write_scores(a, model, scores, r.layers.empty() ? nullptr : &r);
}

void predict_file(predict_arguments& a) {
  if (a.side != "in" && a.side != "out") cli::fail(errc::usage, "--side {}: use in (sources of in-edges) or out", a.side);
  a.check_rows();
  if (a.file.ends_with(".json")) return predict_types(a);
  if (a.features.empty()) cli::fail(errc::usage, "--features is required: name an .npy file (a dataset file names its own)");
  edge_direction const side = a.side == "in" ? edge_direction::in : edge_direction::out;
  cli::check_outputs(a.file, {{"--out", a.out}, {"--embeddings", a.embeddings}});
  execution_device const where = a.where();
  a.budgets.apply(where);
  gnn_model model = read_model(a, where);
  graph_source from(a.file);
  std::uint64_t const n = from.info().vertices, classes = model.options().classes,
                      embedded = a.embeddings.empty() ? 0 : model.options().hidden;
  if (a.weighted && from.info().weights == weight_kind::none)
    cli::fail(errc::input,
              "{}: --weighted, and this graph has no weights; create it with --random-weights (garner convert, garner generate)", a.file);
  if (side == edge_direction::in) from.want_in_lists();
  // What the device has room for goes to rows; it reads lists and table once.
  bool const on_device = where.kind == device_kind::cuda;
  if (on_device && (a.tier.empty() || a.tier == "automatic")) a.tier = "host";
  std::optional<tier> edges;
  graph_handle const g = a.load(from, edges, side == edge_direction::in, 0, {a.weighted, n * (classes + embedded) * sizeof(float)});
  row_array const table = a.open_table(a.features, where);
  tiered_options tiers;
  tiers.device = where;
  if (on_device) tiers.feature_cache = 0;
  a.set_file_budgets(tiers, table);
  tiered_tensor features(table, tiers);
  std::vector<float> scores(n * classes);
  inference_options o;
  o.side = side, o.weighted = a.weighted, o.math = parse_dense_math(a.math);
  if (!a.near_bytes.empty()) o.memory_limit = parse_bytes(a.near_bytes);
  std::vector<float> rows(n * embedded);
  o.embeddings = rows;
  inference_report const r = infer(model, g, features, scores, o);
  write_embeddings(a, rows, embedded);
  write_scores(a, model, scores, &r);
}

}  // namespace

void add_predict(cli::program& p) {
  auto const a = std::make_shared<predict_arguments>();
  cli::verb& v = p.add("predict", "exact inference of a trained model for every node");
  a->add_file(v);
  v.add("--features", a->features);
  a->add_file_rows(v);
  v.add("--model", a->model, "model file that garner train wrote").among("").required();
  v.add("-o,--out", a->out, "file to write (.npy): scores, one row of classes per node by ascending id").required();
  v.add("--classes-only", a->classes);
  v.add("--embeddings", a->embeddings);
  v.add("--weighted", a->weighted, "use edge weights");
  v.add("--side", a->side);
  v.add("--gemm", a->math);
  v.add("--local-bytes", a->near_bytes);
  a->add_place(v);
  a->add_rest(v);
  v.ends_with("Example: garner predict g.gnr --features x.npy --model model.safetensors -o scores.npy");
  v.runs([a] { predict_file(*a); });
}

}  // namespace garner
