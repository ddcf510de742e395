// Models of the contract, and their files: safetensors, the options in the metadata.
#include "nn/model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/fail.hpp"
#include "files/checkpoint.hpp"
#include "graph/hetero.hpp"

namespace garner {

row_scaling scaling_of(tiered_tensor& features) {
  return as_error([&] {
    std::uint64_t const n = std::min<std::uint64_t>(features.rows(), 4096);
    if (n == 0) return row_scaling::none;
    executor x(features.device());
    std::vector<std::int64_t> ids(n);
    for (std::uint64_t k = 0; k < n; ++k) ids[k] = static_cast<std::int64_t>(k * features.rows() / n);
    buffer<std::int64_t> const near = bring(x, ids, "ids of rows");
    buffer<float> rows(x.near(), n * features.width(), x.device(), "rows");
    gather_options o;
    if (features.kind() != element::f32) o.to = element::f32;
    features.gather({near.data(), n, 8}, {rows.data(), rows.bytes()}, o);
    std::vector<float> here(rows.size());
    x.copy(here.data(), rows.data(), rows.bytes());
    x.wait();
    if (std::any_of(here.begin(), here.end(), [](float v) { return v < 0; })) return row_scaling::none;
    auto const zeros = static_cast<std::uint64_t>(std::count(here.begin(), here.end(), 0.0f));
    return (here.size() - zeros) * 10 < here.size() ? row_scaling::sum : row_scaling::length;
  });
}

void suit_layers(model_options& m, std::uint64_t training_vertices) {
  m.residual = training_vertices >= 1000;
  m.layer_norm = m.residual || m.kind == model_kind::gin;
}

aggregation aggregation_of(model_kind kind) {
  return kind == model_kind::gcn ? aggregation::gcn : kind == model_kind::sage ? aggregation::mean : aggregation::sum;
}

network_shape shape_of(model_options const& o, model_types const& t) {
  network_shape s;
  s.kind = o.kind;
  s.inputs = {o.inputs};
  s.relations = {{0, 0, "to"}};
  s.hidden = o.hidden, s.classes = o.classes, s.layers = o.layers;
  s.layer_norm = o.layer_norm, s.residual = o.residual;
  if (t.names.empty()) return s;
  s.types = t.names, s.inputs = t.inputs, s.target = t.target;
  s.relations.clear();
  for (auto const& r : t.relations) s.relations.push_back({r.from, r.to, r.name});
  return s;
}

std::string to_text(model_options const& o) {
  return fmt::format("{} of {} layers, {} -> {} -> {}{}{}, labels {}, rows by {}", to_string(o.kind), o.layers, o.inputs, o.hidden,
                     o.classes, o.layer_norm ? ", layer norm" : "", o.residual ? ", residual" : "",
                     o.labels == label_kind::single_label ? "one class" : "yes or no", to_string(o.scaling));
}

namespace {
model_options const& checked(model_options const& o) {
  auto const range = [](char const* what, std::uint64_t value, std::uint64_t most) {
    if (value < 1 || value > most) fail(errc::usage, "a model of {} {}: use 1 to {}", value, what, most);
  };
  range("elements a row", o.inputs, 1u << 24);
  range("classes", o.classes, 1u << 24);
  range("layers", o.layers, 64);
  range("hidden elements", o.hidden, 1u << 20);
  return o;
}
}  // namespace

namespace {
// With several types the inputs are those of the target.
model_options options_for(model_options o, model_types const& t) {
  if (t.names.empty()) return o;
  if (t.inputs.size() != t.names.size() || t.target >= t.names.size())
    fail(errc::usage, "a model of {} types with {} widths of rows and the target {}; give each type a width", t.names.size(),
         t.inputs.size(), t.target);
  for (auto const& r : t.relations)
    if (r.from >= t.names.size() || r.to >= t.names.size()) fail(errc::usage, "relation '{}' between types that are not there", r.name);
  for (std::uint64_t const width : t.inputs)
    if (width < 1 || width > 1u << 24) fail(errc::usage, "a type with rows of {} elements: use 1 to {}", width, 1u << 24);
  o.inputs = t.inputs[t.target];
  return o;
}
}  // namespace

gnn_model::parts::parts(execution_device where, model_options const& o, model_types const& t)
    : x(where), options(checked(options_for(o, t))), net(x, shape_of(options, t), o.seed) {}

void require_table(gnn_model::parts const& m, tiered_tensor const& features, std::uint64_t vertices, std::uint64_t inputs,
                   std::string const& graph, std::string const& type) {
  std::string const of = type.empty() ? "" : fmt::format(" of '{}'", type);
  if (features.width() != inputs)
    fail(errc::input, "{}: rows{} have {} elements, and the model takes {}; give it as many", graph, of, features.width(), inputs);
  if (features.rows() < vertices)
    fail(errc::input, "{}: {} rows of features for {} vertices{}; give each vertex one row", graph, features.rows(), vertices, of);
  if (!(features.device() == m.x.where()))
    fail(errc::usage, "{}: features{} are gathered on {} and the model is on {}; give both the same device", graph, of,
         to_string(features.device()), to_string(m.x.where()));
}
void require_table(gnn_model::parts const& m, tiered_tensor const& features, graph_handle const& g) {
  if (!types_in(m.net.shape()).names.empty())
    fail(errc::usage, "{}: has one type, and the model has several; open the dataset file, or make the model without types", g.name());
  require_table(m, features, g.info().vertices, m.options.inputs, g.name());
}

model_types types_in(network_shape const& s) {
  model_types t;
  if (s.types.size() == 1 && s.types[0].empty()) return t;
  t.names = s.types, t.inputs = s.inputs, t.target = s.target;
  for (auto const& r : s.relations) t.relations.push_back({r.from, r.to, r.name});
  return t;
}
model_types types_of(hetero_graph const& g, std::size_t target, std::span<tiered_tensor* const> features, edge_direction side) try {
  auto const& types = g.types();
  if (target >= types.size()) fail(errc::usage, "{}: type {} of {}; they are counted from 0", g.name(), target, types.size());
  if (features.size() != types.size())
    fail(errc::usage, "{}: {} tables for {} types; give each type one", g.name(), features.size(), types.size());
  std::vector<std::uint64_t> widths;
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (!features[k])
      fail(errc::input,
           "{}: '{}' has no features; name a table with one row per vertex in the dataset file (random numbers where features are unknown)",
           g.name(), types[k].name);
    widths.push_back(features[k]->width());
  }
  return types_of({types, g.edges()}, g.name(), target, std::move(widths), side);
} catch (...) {
  rethrow_as_error();
}
model_types types_of(dataset_info const& g, std::string const& name, std::size_t target, std::vector<std::uint64_t> widths,
                     edge_direction side) {
  model_types t;
  t.target = static_cast<std::uint32_t>(target), t.inputs = std::move(widths);
  for (vertex_type const& of : g.types) t.names.push_back(of.name);
  for (edge_type const& e : g.edges) {
    t.relations.push_back({static_cast<std::uint32_t>(type_named(g.types, e.from, name)),
                           static_cast<std::uint32_t>(type_named(g.types, e.to, name)),
                           fmt::format("{}__{}__{}", e.from, e.relation, e.to)});
    if (side == edge_direction::out) std::swap(t.relations.back().from, t.relations.back().to);
  }
  return t;
}

gnn_model::gnn_model(execution_device where, model_options const& options)
    : parts_(as_error([&] { return std::make_unique<parts>(where, options); })) {}
gnn_model::gnn_model(execution_device where, model_options const& options, model_types const& types)
    : parts_(as_error([&] { return std::make_unique<parts>(where, options, types); })) {}
model_types gnn_model::types() const {
  return as_error([&] { return types_in(parts_->net.shape()); });
}
gnn_model::gnn_model(std::unique_ptr<parts> made) : parts_(std::move(made)) {}
gnn_model::~gnn_model() = default;
gnn_model::gnn_model(gnn_model&&) noexcept = default;
gnn_model& gnn_model::operator=(gnn_model&&) noexcept = default;
model_options const& gnn_model::options() const { return parts_->options; }
execution_device gnn_model::device() const { return parts_->x.where(); }

std::vector<gnn_model::tensor> gnn_model::tensors() const try {
  auto& [x, o, net] = *parts_;
  std::vector<float> all(net.count());
  x.copy(all.data(), net.values(), all.size() * sizeof(float));
  x.wait();
  std::vector<tensor> tensors;
  for (parameter const& p : net.parameters()) {
    tensor t{p.name, p.shape, {}};
    for (std::uint64_t r = 0; r < p.rows; ++r) {
      auto const from = all.begin() + static_cast<std::ptrdiff_t>(p.offset + r * p.stride);
      t.values.insert(t.values.end(), from, from + static_cast<std::ptrdiff_t>(p.columns));
    }
    tensors.push_back(std::move(t));
  }
  return tensors;
} catch (...) {
  rethrow_as_error();
}
std::uint64_t gnn_model::parameters() const {
  std::uint64_t n = 0;
  for (parameter const& p : parts_->net.parameters()) n += p.rows * p.columns;
  return n;
}

void gnn_model::save(std::filesystem::path const& file) const try {
  checkpoint c;
  c.is = checkpoint::kind::model;
  model_options const& o = parts_->options;
  c.facts = {{"kind", std::string(to_string(o.kind))},      {"inputs", std::to_string(o.inputs)},
             {"hidden", std::to_string(o.hidden)},          {"classes", std::to_string(o.classes)},
             {"layers", std::to_string(o.layers)},          {"layer_norm", o.layer_norm ? "1" : "0"},
             {"residual", o.residual ? "1" : "0"},          {"labels", o.labels == label_kind::single_label ? "one_class" : "yes_or_no"},
             {"scaling", std::string(to_string(o.scaling))}};
  if (model_types const types = this->types(); !types.names.empty()) {
    c.facts["types"] = std::to_string(types.names.size());
    c.facts["relations"] = std::to_string(types.relations.size());
    c.facts["target"] = std::to_string(types.target);
    for (std::size_t k = 0; k < types.names.size(); ++k)
      c.facts[fmt::format("type {}", k)] = types.names[k], c.facts[fmt::format("type {} inputs", k)] = std::to_string(types.inputs[k]);
    for (std::size_t k = 0; k < types.relations.size(); ++k) {
      auto const& r = types.relations[k];
      c.facts[fmt::format("relation {}", k)] = r.name;
      c.facts[fmt::format("relation {} from", k)] = std::to_string(r.from),
                                              c.facts[fmt::format("relation {} to", k)] = std::to_string(r.to);
    }
  }
  for (tensor& t : tensors()) c.arrays.push_back({std::move(t.name), std::move(t.shape), std::move(t.values)});
  c.write(file);
} catch (...) {
  rethrow_as_error();
}

gnn_model gnn_model::load(std::filesystem::path const& path, execution_device where) try {
  checkpoint const c = checkpoint::read(path, checkpoint::kind::model);
  auto const number = [&](std::string const& key) {
    std::string const& from = c.fact(key);
    std::uint64_t value = 0;
    auto const [end, wrong] = std::from_chars(from.data(), from.data() + from.size(), value);
    if (wrong != std::errc() || end != from.data() + from.size() || value > UINT32_MAX)
      fail(errc::input, "{}: its {} is '{}', and should be a number; the file is damaged", c.file, key, from);
    return value;
  };
  model_options o;
  o.kind = parse_model_kind(c.fact("kind"));
  o.inputs = number("inputs"), o.classes = number("classes");
  o.hidden = static_cast<std::uint32_t>(number("hidden")), o.layers = static_cast<std::uint32_t>(number("layers"));
  o.layer_norm = number("layer_norm") != 0, o.residual = number("residual") != 0;
  o.labels = c.fact("labels") == "one_class" ? label_kind::single_label : label_kind::multi_label;
  o.scaling = parse_row_scaling(c.fact("scaling"));
  model_types types;
  if (c.facts.contains("types")) {
    std::uint64_t const n = number("types"), relations = number("relations");
    if (n < 1 || n > 1u << 16 || relations > 1u << 16)
      fail(errc::input, "{}: {} types and {} relations; the file is damaged", c.file, n, relations);
    types.target = static_cast<std::uint32_t>(number("target"));
    for (std::uint64_t k = 0; k < n; ++k)
      types.names.push_back(c.fact(fmt::format("type {}", k))), types.inputs.push_back(number(fmt::format("type {} inputs", k)));
    for (std::uint64_t k = 0; k < relations; ++k)
      types.relations.push_back({static_cast<std::uint32_t>(number(fmt::format("relation {} from", k))),
                                 static_cast<std::uint32_t>(number(fmt::format("relation {} to", k))),
                                 c.fact(fmt::format("relation {}", k))});
  }
  gnn_model m(where, o, types);
  network<float>& net = m.parts_->net;
  std::vector<float> all(net.count(), 0);
  for (parameter const& p : net.parameters()) {
    std::vector<float> const& values = c.values<float>(p.name, p.shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        fail(errc::input, "{}: element {} of '{}' in layer {} is not a finite number; train again", c.file, i, p.name, p.layer + 1);
    for (std::uint64_t r = 0; r < p.rows; ++r)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(r * p.columns), p.columns,
                  all.begin() + static_cast<std::ptrdiff_t>(p.offset + r * p.stride));
  }
  m.parts_->x.copy(net.values(), all.data(), all.size() * sizeof(float));
  m.parts_->x.wait();
  return m;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
