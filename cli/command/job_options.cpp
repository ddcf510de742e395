#include "job_options.hpp"

#include <algorithm>

#include "garner/handle.hpp"
#include "garner/memory.hpp"
#include "shard/parts.hpp"
#include "traverse/spread.hpp"

namespace garner::cli {

namespace {

link_shown what_crosses(execution_device where, tier edges) {
  if (where.kind == device_kind::simulated) return {true, false};
  // The driver moves managed pages and does not report how many.
  return {where.kind == device_kind::cuda && (edges == tier::host || edges == tier::file), true};
}

bool host_is_limited() { return host_memory_use().limit != unlimited_bytes; }

}  // namespace

void job_arguments::add_file(verb& v, char const* help) { v.add("FILE", file, help).required(); }

void job_arguments::add_place(verb& v) {
  v.add("--device", place);
  v.add("--access", access);
  v.add("--tier", tier);
}

void job_arguments::add_shards(verb& v) {
  v.add("--shards", shards,
        "parts of the vertices, one thread each on one device; with --devices their number: all run, even if one is faster");
  v.add("--devices", devices,
        "GPUs, as 0,1: each takes a part of the vertices and reads only their adjacency; the first alone where that is faster");
}
std::vector<garner::execution_device> shard_places(std::string const& place, std::optional<std::uint32_t> shards,
                                                   std::vector<std::uint32_t> const& devices) {
  if (!devices.empty() && place != "cpu") fail(errc::usage, "--devices and --device {}: use one of them", place);
  std::uint64_t const n = devices.empty() ? shards.value_or(1) : devices.size();
  if (n < 1 || n > shard_parts::most)
    fail(errc::usage, "{}: use 1 to {}", devices.empty() ? fmt::format("--shards {}", n) : fmt::format("--devices names {}", n),
         shard_parts::most);
  if (shards.value_or(static_cast<std::uint32_t>(n)) != n)
    fail(errc::usage, "--shards {} and --devices of {}: use {}, and all of them run; or leave --shards out", *shards, n, n);
  std::vector<garner::execution_device> all(n);
  for (std::size_t k = 0; k < n; ++k)
    all[k] = devices.empty() ? parse_device(place) : garner::execution_device{device_kind::cuda, static_cast<int>(devices[k])};
  return all;
}

void job_arguments::add_l2(verb& v) { v.add("--l2-bytes", l2); }

void job_arguments::add_verify(verb& v, char const* help) { v.add("--verify", verify, help); }

void job_arguments::add_out(verb& v, char const* help) {
  v.add("--out", out, help);
  v.add("--format", format);
}

void job_arguments::add_rest(verb& v) {
  v.add("--json", json);
  v.add("--no-check", no_check);
  v.add("--graph-cache", device_cache);
  budgets.add(v, true);
}

std::uint64_t job_arguments::affordable_device_cache(job_ground const& ground) {
  std::uint64_t const wanted = default_device_budget(ground.info);
  if (!ground.on_device()) return wanted;
  std::uint64_t const taken = ground.bytes().device, limit = device_limit(ground.where);
  return device_cache_that_fits(wanted, limit, taken);
}

result_target job_arguments::result() const { return {out, format.empty() ? result_format_of(out) : parse_result_format(format)}; }

void job_arguments::check(std::vector<garner::execution_device> const& places, std::uint64_t l2_bytes,
                          std::vector<std::pair<char const*, std::string>> files) const {
  if (l2_bytes && places[0].kind != device_kind::simulated)
    fail(errc::usage, "--l2-bytes {}: only a simulated run models an L2; leave it out or use --device simulated", l2);
  if (!format.empty() && out.empty()) fail(errc::usage, "--format {}: of which file? Name one with --out", format);
  for (garner::execution_device const where : places) budgets.apply(where);
  warn_without_gpu(places[0], {{"--graph-cache", device_cache}});
  require_peers(places);
  if (wants_result())
    for (std::filesystem::path const& name : files_of(result())) files.insert(files.begin(), {"--out", name.string()});
  check_outputs(file, files);
}

job_ground job_arguments::load(graph_source& from, job_ground ground) const {
  bool const on_device = ground.on_device();
  auto const [host, device] = ground.bytes();
  char const* const instead = ground.edges == garner::tier::device ? "leave the edges in host memory (--tier host)" : "use --device cpu";
  if (ground.parts.empty()) require_memory(file, host, device, ground.where, instead);
  for (job_part const& p : ground.parts) require_memory(file, host, device, p.where, instead);
  if (on_device && ground.edges == garner::tier::peer) require_on_peer(file, ground.remote_bytes(), ground.where);
  if (on_device) ground.device_limit = device_limit(ground.where);
  ground.link = what_crosses(ground.where, ground.edges);
  load_options how;
  // Elsewhere than on a device managed memory is host memory.
  how.edges = ground.parts.empty() && (on_device || ground.edges == garner::tier::file) ? ground.edges : garner::tier::host;
  how.device = on_device ? ground.where.index : -1;
  how.in_edges = ground.needs.in_edges;
  how.weights = ground.needs.weights;
  how.cached_neighbors = ground.needs.cached_neighbor_bytes > 0;
  how.check = ground.checked;
  ground.g = from.load(how);
  if (how.in_edges || !from.makes_in_lists()) ground.made = from.makes(), ground.making_ms = from.making_ms();
  return ground;
}

job_ground::memory job_ground::bytes() const {
  memory all;
  if (!parts.empty()) {  // all edges in host memory, and the offsets of the parts in addition to its own
    all.host = (info.vertices + 1) * 16 * (needs.in_edges ? 2 : 1) + bytes_of_ids(info) + making_bytes + remote_bytes();
    (on_device() ? all.device : all.host) += near_bytes(parts, on_device() ? edges : garner::tier::host);
    return all;
  }
  all.host = (info.vertices + 1) * 8 * (needs.in_edges ? 2 : 1) + bytes_of_ids(info) + needs.cached_neighbor_bytes + making_bytes;
  (on_device() ? all.device : all.host) += needs.state_bytes + needs.device_cache_bytes;
  if (edges == garner::tier::file) all.host += file_tier_bytes(info, in_file, needs.in_edges, needs.weights);
  else if (!on_device() || !in_device_memory(edges)) all.host += remote_bytes();
  else if (edges == garner::tier::device) all.device += remote_bytes();
  if (on_device() && in_device_memory(edges) && info.compressed) all.host += remote_bytes();  // on their way
  return all;
}

void job_ground::say_head(std::string const& more) const {
  say("graph   {}: {}\n", file, describe(info));
  say("device  {}; edges in tier {} ({}{}), access {}{}\n", to_string(where), to_string(edges), format_bytes(remote_bytes()),
      tier_chosen && edges == garner::tier::device ? "; all of them fit" : "", to_string(access), more);
  if (!parts.empty()) {
    std::string at;
    for (job_part const& p : parts) at += (at.empty() ? "" : ", ") + to_string(p.where);
    say("shards  {} on {}\n", parts.size(), on_device() ? at : to_string(where));
  }
  if (!alone.empty()) say("shards  {}\n", alone);
  if (made) say_made(made, making_ms, format_bytes((info.vertices + 1) * 8 + target_bytes(info, in_file, made[0] == 'i')) + ", ");
  say("memory  state {}{}{}{}\n", format_bytes(needs.state_bytes),
      needs.device_cache_bytes
          ? ", graph cache " + format_bytes(needs.device_cache_bytes) + " of a limit of " + format_bytes(needs.device_budget)
          : "",
      on_device() ? ", device memory " + format_bytes(device_limit) : "",
      host_is_limited() ? ", host budget " + format_bytes(host_memory_use().limit) : "");
}

std::optional<double> job_ground::gb_per_s(std::uint64_t bytes, double ms) const {
  if (!link.crosses || !link.timed || ms <= 0) return std::nullopt;
  return static_cast<double>(bytes) / ms / 1e6;
}

std::string job_ground::rate(std::uint64_t bytes, double ms) const {
  auto const r = gb_per_s(bytes, ms);
  return r ? fmt::format("{:.2f}", *r) : "-";
}

std::string job_ground::link_bytes(std::uint64_t bytes) const { return link.crosses ? format_bytes(bytes) : "-"; }

std::string job_ground::amplification(traffic const& t) const {
  return link.crosses ? fmt::format("{:.3f}", t.amplification(list_bytes())) : "-";
}

ordered_json json_of(file_reads const& f) {
  return {{"requests", f.requests}, {"bytes", f.bytes_read}, {"bytes_requested", f.bytes_asked}, {"bytes_of_blocks", f.bytes_blocks}};
}
ordered_json json_of(file_reads const& f, std::uint64_t list_bytes) {
  ordered_json read = json_of(f);
  read["overfetch"] = f.overfetch(), read["overfetch_of_blocks"] = f.overfetch_of_blocks();
  read["share_of_adjacency"] = share_of(f, list_bytes);
  return read;
}
double share_of(file_reads const& f, std::uint64_t list_bytes) {
  return list_bytes ? static_cast<double>(f.bytes_read) / static_cast<double>(list_bytes) : 0;
}
void job_ground::say_file(file_reads const& f, double ms) const {
  if (edges != garner::tier::file) return;
  say("file    {} requests, {} read ({:.3f} of the adjacency, {:.3f} of the requested bytes, {:.3f} of the drive's blocks that hold them), "
      "{:.2f} "
      "GB/s; waited {:.1f} ms\n",
      grouped(f.requests), format_bytes(f.bytes_read), share_of(f, list_bytes()), f.overfetch(), f.overfetch_of_blocks(),
      ms > 0 ? static_cast<double>(f.bytes_read) / ms / 1e6 : 0, f.waited_ms);
}
void job_ground::add_file(ordered_json& to, file_reads const& f, double ms) const {
  if (edges != garner::tier::file) {
    to["adjacency_reads"] = nullptr;
    return;
  }
  ordered_json& read = to["adjacency_reads"] = json_of(f, list_bytes());
  read["gbs"] = or_null(ms > 0, ms > 0 ? static_cast<double>(f.bytes_read) / ms / 1e6 : 0), read["waited_ms"] = f.waited_ms;
}

void job_ground::say_traffic(traffic const& t) const {
  if (!link.crosses) return say("over the link -, amplification -, overfetch -\n");
  if (access == access_mode::paged) say("pages of 4 KiB {}\n", grouped(t.pages));
  else
    say("requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}\n", grouped(t.requests[0]), grouped(t.requests[1]), grouped(t.requests[2]),
        grouped(t.requests[3]));
  say("over the link {}, amplification {}, overfetch {:.3f}{}\n", format_bytes(t.bytes_link()), amplification(t), t.overfetch(),
      link.timed ? " (modeled)" : "");
}

ordered_json job_ground::head() const {
  return {{"file", file},
          {"vertices", info.vertices},
          {"edges", info.edges},
          {"directed", info.directed},
          {"in_edges_built_ms", made && made[0] == 'i' ? ordered_json(making_ms) : ordered_json(nullptr)},
          {"device", to_string(where)},
          {"tier", to_string(edges)},
          {"tier_chosen", tier_chosen},
          {"access", to_string(access)}};
}

void job_ground::add_tail(ordered_json& to, bool verified) const {
  to["l2_bytes"] = l2_bytes;
  to["device_memory"] = or_null(on_device(), device_limit);
  to["host_budget"] = or_null(host_is_limited(), host_memory_use().limit);
  to["state_bytes"] = needs.state_bytes;
  to["checked"] = checked;
  to["verified"] = verified;
  to["simulated"] = !link.timed;
  to["modeled"] = link.crosses && on_device();
}

void job_ground::say_device_cache(std::vector<cached_part> const& parts) const {
  for (cached_part const& c : parts) say("cached  {}: {}, built in {:.1f} ms\n", c.what, format_bytes(c.bytes), c.ms);
}

void job_ground::add_device_cache(ordered_json& to, std::vector<cached_part> const& device_cache) const {
  to["graph_cache"] = or_null(where.kind != device_kind::cpu, needs.device_budget);
  to["graph_cache_parts"] = ordered_json::array();
  for (cached_part const& c : device_cache) to["graph_cache_parts"].push_back({{"what", c.what}, {"bytes", c.bytes}, {"ms", c.ms}});
}

void job_ground::say_shards(std::vector<shard_run> const& shards) const {
  if (shards.empty()) return;
  say("{:>7} {:>14} {:>16} {:>14} {:>14} {:>10}\n", "shard", "vertices", "edges", "over the link", "from others", "own ms");
  for (std::size_t k = 0; k < shards.size(); ++k) {
    shard_run const& s = shards[k];
    say("{:>7} {:>14} {:>16} {:>14} {:>14} {:>10.3f}\n", k, grouped(s.part.vertices), grouped(s.part.edges),
        link_bytes(s.link.bytes_link()), format_bytes(s.bytes_exchanged), s.ms);
  }
}
ordered_json json_of(std::vector<shard_run> const& shards) {
  ordered_json all = ordered_json::array();
  for (shard_run const& s : shards)
    all.push_back({{"device", to_string(s.device)},
                   {"vertices", s.part.vertices},
                   {"edges", s.part.edges},
                   {"bytes_link", s.link.bytes_link()},
                   {"bytes_exchanged", s.bytes_exchanged},
                   {"ms", s.ms}});
  return all;
}

void job_ground::add_rate(ordered_json& to, std::uint64_t bytes, double ms) const {
  auto const r = gb_per_s(bytes, ms);
  to["gbs"] = or_null(r.has_value(), r.value_or(0));
}

void job_ground::add_traffic(ordered_json& to, traffic const& t) const {
  ordered_json requests = nullptr;
  if (link.crosses) {
    requests = ordered_json::object();
    for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = t.requests[k];
    requests["pages"] = t.pages;
  }
  to["bytes_link"] = or_null(link.crosses, t.bytes_link());
  to["amplification"] = or_null(link.crosses, t.amplification(list_bytes()));
  to["overfetch"] = or_null(link.crosses, t.overfetch());
  to["requests"] = requests;
}

void check_vertices_per_team(std::uint32_t n) {
  if (n < 1 || n > 1024) fail(errc::usage, "--vertices-per-team {}: use 1 to 1024", n);
}
void check_slice(std::uint32_t n) {
  if (n < 64 || n % 32) fail(errc::usage, "--slice {}: use a multiple of 32, 64 or more", n);
}

std::string spread_of(std::vector<double> const& ms) {
  auto const [least, most] = std::minmax_element(ms.begin(), ms.end());
  return fmt::format("ms least {:.3f}, median {:.3f}, most {:.3f}", *least, median(ms), *most);
}

std::uint64_t device_bytes_at(execution_device where) {
  return where.kind == device_kind::cuda && where.index < device_count() ? device_limit(where) : 0;
}
double median_of(std::vector<double> ms) { return median(std::move(ms)); }
std::string prepared_in(double ms) { return ms >= 0.0005 ? fmt::format("; {:.3f} ms before it, once per graph", ms) : ""; }

}  // namespace garner::cli
