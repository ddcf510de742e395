#include "graph/source.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "graph/container_format.hpp"
#include "graph/generate.hpp"
#include "graph/handle.hpp"
#include "graph/pack.hpp"
#include "graph/transpose.hpp"
#include "memory/budget.hpp"

namespace garner {

std::optional<generate_options> generated_by(std::filesystem::path const& path) {
  std::string const name = path.string();
  std::size_t const colon = name.find(':');
  std::string const kind = name.substr(0, colon);
  if (colon == name.npos || (kind != "kron" && kind != "uniform" && kind != "web")) return std::nullopt;
  generate_options o;
  o.kind = parse_generator(kind);
  char const *at = name.data() + colon, *const end = name.data() + name.size();
  auto const number = [&](auto& to) {
    auto const [rest, problem] = std::from_chars(at + 1, end, to);
    if (problem != std::errc{}) return false;
    at = rest;
    return true;
  };
  bool const sound = number(o.scale) && (at == end || (*at == ':' && number(o.edge_factor) && at == end)) && o.scale >= 1 &&
                     o.scale <= 31 && o.edge_factor >= 1 && o.edge_factor <= 4096;
  if (!sound)
    fail(errc::usage,
         "{}: use KIND:SCALE or KIND:SCALE:EDGE_FACTOR, with a scale of 1 to 31 and an edge factor of 1 to 4096, as kron:20 (a file of "
         "such a name: ./{})",
         name, name);
  return o;
}

graph_source::graph_source(std::filesystem::path name, bool as_stored) : name_(std::move(name)) {
  auto const options = generated_by(name_);
  if (!options) {
    header_ = read_header(name_);
    turned_ = header_.info.reversed && !as_stored;
    if (!turned_) return;
    packed_words& w = header_.words;
    makes_out_lists_ = !header_.info.in_edges;
    header_.info.in_edges = true, header_.info.reversed = false, header_.cached_neighbors = 0;
    w = {w.in_targets, w.in_weights, w.out_targets, w.out_weights};
    if (makes_out_lists_) expect_packed(w.out_targets, w.out_weights);
    header_.sections = container::layout(header_.info, w, 0);
    return;
  }
  generated_ = true;
  generate_bytes const bytes = bytes_to_generate(*options);
  if (std::uint64_t const allowed = host_budget().limit(); bytes.near + bytes.result > allowed)
    fail(errc::memory,
         "{}: making it needs about {} ({} bytes) of host memory and {} ({} bytes) are allowed; raise the host budget or take "
         "a smaller scale",
         name_.string(), format_bytes(bytes.near + bytes.result), bytes.near + bytes.result, format_bytes(allowed), allowed);
  executor x({device_kind::cpu, 0});
  build_report report;
  made_ = generate(x, *options, report);
  made_->name = name_.string();
  header_.info = made_->info;
  header_.sections = container::layout(header_.info, {}, 0);
}

// The compressed size of what is computed is not known yet.
void graph_source::expect_packed(std::uint64_t& targets, std::uint64_t& weights) const {
  if (!header_.info.compressed) return;
  targets = most_packed_bytes(header_.info.edges) / 4;
  if (header_.info.weights != weight_kind::none) weights = targets;
}

void graph_source::want_in_lists() {
  if (!header_.info.directed || header_.info.in_edges) return;
  makes_in_lists_ = header_.info.in_edges = true;
  expect_packed(header_.words.in_targets, header_.words.in_weights);
  header_.sections = container::layout(header_.info, header_.words, header_.cached_neighbors);
}

std::uint64_t graph_source::making_bytes(bool for_device, bool in_edges) const {
  if (!makes()) return 0;
  graph_info const& i = header_.info;
  std::uint64_t const one = i.edges * (i.id_bytes + (i.weights == weight_kind::none ? 0 : 4));
  // For a device, both directions are built in host memory before they are moved to their tier.
  return bytes_to_transpose(i) + (for_device ? 2 * one : in_edges ? 0 : (i.vertices + 1) * 8 + one);
}

graph graph_source::load(load_options const& how) {
  bool const makes = makes_out_lists_ || (how.in_edges && makes_in_lists_);
  if (how.edges == tier::file && generated_)
    fail(errc::usage, "{}: is made in memory, so it lies in no file; write it with garner generate, or use tier host", name_.string());
  if (how.edges == tier::file && makes_out_lists_)
    fail(errc::input, "{}: has no out-edges, and edges that stay in the file build none; write both with `garner convert --in-edges`",
         name_.string());
  if (how.edges == tier::file && makes)
    fail(errc::input, "{}: has no in-edges, and edges that stay in the file build none; add them with `garner convert --in-edges`",
         name_.string());
  auto const finish = [&](graph& g) {
    if (turned_) std::swap(g.out, g.in), g.info.reversed = false;
    if (!how.in_edges) g.in = {}, g.info.in_edges = false;
  };
  if (!generated_ && !makes && !turned_) return load_graph(name_, how);
  if (turned_ && !makes) {  // both directions are there
    load_options both = how;
    both.in_edges = true, both.cached_neighbors = false;
    graph g = load_graph(name_, both);
    finish(g);
    return g;
  }
  graph g;
  if (generated_) {
    if (!made_) fail(errc::internal, "{}: was loaded before", name_.string());
    if (how.weights) fail(errc::input, "{}: has no weights; make the graph by `garner generate --random-weights 1:255`", name_.string());
    g = std::move(*made_);
    made_.reset();
  } else {
    load_options home = how;
    home.in_edges = false, home.edges = tier::host, home.device = -1;
    home.cached_neighbors &= !turned_;
    g = load_graph(name_, home);
  }
  if (makes) {
    auto const start = steady::now();
    add_in_lists(g);
    finish(g);
    making_ms_ = ms_since(start);
  }
  if (how.device < 0) return g;
  return graph_access::take(to_device(graph_access::wrap(std::move(g)), {device_kind::cuda, how.device}, how.edges));
}

buffer<std::uint64_t> graph_source::offsets(bool of_in_lists, bool check) const {
  if (of_in_lists ? makes_in_lists_ : makes_out_lists_) return {};
  if (!generated_) return load_offsets(name_, of_in_lists != turned_, check);
  buffer<std::uint64_t> copy(tier::host, made_->out.offsets.size(), -1, "offsets");
  std::copy(made_->out.offsets.begin(), made_->out.offsets.end(), copy.begin());
  return copy;
}

}  // namespace garner
