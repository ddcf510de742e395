#include "job_options.hpp"

#include "graph/container.hpp"

namespace garner::cli {

nlohmann::ordered_json requests_of(traffic const& t, link_shown link) {
  if (!link.crosses) return nullptr;
  nlohmann::ordered_json requests = nlohmann::ordered_json::object();
  for (std::size_t k = 0; k < 4; ++k) requests[std::to_string(32 * (k + 1))] = t.requests[k];
  requests["pages"] = t.pages;
  return requests;
}

void say_link(traffic const& t, graph_info const& info, link_shown link) {
  if (!link.crosses) return say("over the link -, amplification -, overfetch -\n");
  if (t.pages) say("pages of 4 KiB {}\n", grouped(t.pages));
  else
    say("requests of 32 B {}, 64 B {}, 96 B {}, 128 B {}\n", grouped(t.requests[0]), grouped(t.requests[1]), grouped(t.requests[2]),
        grouped(t.requests[3]));
  say("over the link {}, amplification {:.3f}, overfetch {:.3f}\n", format_bytes(t.bytes_link()),
      t.amplification(info.edges * info.id_bytes), t.overfetch());
}

void job_arguments::add(CLI::App& verb) {
  verb.add_option("FILE", file, "a container (.gnr); convert other formats first")->required();
  verb.add_option("--place", place, "host, device, device:N, or traced: a GPU simulated, to count its requests")
      ->capture_default_str()
      ->type_name("PLACE");
  verb.add_option("--access", access, "strided, merged, aligned, paged")->capture_default_str()->type_name("ACCESS");
  verb.add_option("--tier", tier, "where the edges lie: host, device, managed (default: host; managed for paged)")->type_name("TIER");
  verb.add_option("--l2-bytes", l2, "of a traced run: the L2 before the link, as 50MiB (default: none)")->type_name("BYTES");
  verb.add_flag("--json", json, "print one JSON object");
  verb.add_flag("--no-check", no_check, "do not check the checksums of the container");
  budgets.add(verb, true);
}

graph job_arguments::load(graph_info const& info, garner::place where, garner::tier edges_in, std::uint64_t state_bytes) const {
  bool const on_device = where.kind == place_kind::device;
  std::uint64_t const edges = info.edges * info.id_bytes;
  std::uint64_t host_bytes = (info.vertices + 1) * 8 + bytes_of_ids(info), device_bytes = 0;
  (on_device ? device_bytes : host_bytes) += state_bytes;
  (on_device && edges_in == garner::tier::device ? device_bytes : host_bytes) += edges;
  require_memory(file, host_bytes, device_bytes, where,
                 edges_in == garner::tier::device ? "leave the edges in host memory (--tier host)" : "say --place host");
  load_options how;
  how.edges = on_device ? edges_in : garner::tier::host;  // elsewhere managed memory is host memory
  how.device = on_device ? where.index : -1;
  how.check = !no_check;
  return load_graph(file, how);
}

}  // namespace garner::cli
