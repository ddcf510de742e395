// Results of one run of `garner-lab traversal`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "garner/traffic.hpp"
#include "lab/file_head.hpp"

namespace garner::lab {

struct request_counts {
  traffic& of;
  void keys(auto& k) { k("32", of.requests[0], "64", of.requests[1], "96", of.requests[2], "128", of.requests[3], "pages", of.pages); }
};
void keys_of(auto& k, traffic& t) {
  request_counts counts{t};
  k("requests", counts), k.derived("bytes_link", t.bytes_link()), k("bytes_useful", t.bytes_useful);
}

struct link_rates {  // GB/s, 1e9 requests per second
  double copy_gbs = 0, zero_copy_gbs = 0;
  std::optional<double> paged_gbs;
  double line_requests = 0, sector_requests = 0;

  void keys(auto& k) {
    k("copy_gbs", copy_gbs, "zero_copy_gbs", zero_copy_gbs, "paged_gbs", paged_gbs, "line_requests_giga", line_requests);
    k("sector_requests_giga", sector_requests);
  }
};
struct machine_facts {
  std::string place;   // "host", "simulated", "device 0"
  std::string device;  // its name; empty without a device
  std::uint64_t threads = 0, l2_bytes = 0;
  std::optional<std::uint64_t> device_budget, host_budget;
  std::optional<link_rates> link;  // calibrated; absent without a link

  void keys(auto& k) {
    k("place", place), k.or_null("device", device);
    k("threads", threads, "l2_bytes", l2_bytes, "device_budget", device_budget, "host_budget", host_budget, "link", link);
  }
};
struct protocol_facts {
  std::string name;       // "paper", "short"
  std::string statistic;  // "mean", "median"
  std::uint64_t sources = 0, trials = 0, iterations = 0, seed = 0;

  void keys(auto& k) {
    k("name", name, "statistic", statistic, "sources", sources, "trials", trials, "iterations", iterations, "seed", seed);
  }
};

struct degree_share {  // the share of the edges at vertices of at most this degree
  std::uint64_t degree = 0;
  double share = 0;

  void keys(auto& k) { k("degree", degree, "share", share); }
};
struct graph_row {
  std::string name;  // "kron 26", or the file's name
  std::uint64_t vertices = 0, edges = 0, degree_max = 0;
  bool directed = false;
  std::vector<degree_share> shares;

  void keys(auto& k) {
    k("name", name, "vertices", vertices, "edges", edges, "directed", directed, "degree_max", degree_max, "shares", shares);
  }
};

struct pattern_row {
  std::string pattern;  // "strided", "off by 32 B", "aligned", "paged"
  std::uint64_t bytes = 0;
  std::optional<double> ms, gbs;
  std::optional<traffic> link;
  bool verified = false;
  std::string skipped;  // the reason for a missing measurement; else empty

  void keys(auto& k) {
    k("pattern", pattern, "bytes", bytes, "ms", ms, "gbs", gbs, "link", link, "verified", verified), k.or_null("skipped", skipped);
  }
};

struct prediction {
  double gbs = 0, ms = 0;

  void keys(auto& k) { k("gbs", gbs, "ms", ms); }
};
struct job_row {
  std::string graph, job;       // graph: the name of a graph_row
  std::string strategy, label;  // the strategy's name, and its label next to a bar
  bool paper = false;           // the paper's strategy, else Garner's own
  std::string place, access, tier;
  std::uint32_t id_bytes = 4;
  std::uint64_t data_bytes = 0, state_bytes = 0;  // edges (and weights, if read) once; device memory
  std::optional<std::uint64_t> device_budget;     // bytes of remote data cached on the device
  std::vector<double> ms;                         // of each run
  std::optional<double> ms_statistic;             // by the protocol's statistic; absent if time was simulated
  std::optional<double> prepare_ms;               // before the first run's clock; absent if time was simulated
  std::uint64_t iterations = 0;                   // PageRank: of one run; else 0
  std::optional<traffic> link;                    // all runs together; absent without a link
  bool modelled = false;                          // link: in closed form, not counted
  std::vector<prediction> predicted;              // for an average run
  bool verified = false;
  std::string skipped;  // the reason for a missing measurement; else empty

  bool drawn() const { return verified && skipped.empty() && !ms.empty(); }
  double runs() const { return static_cast<double>(ms.size()); }
  bool near() const { return tier == "device"; }  // the edges were in device memory
  void keys(auto& k) {
    k("graph", graph, "job", job, "way", strategy, "label", label, "paper", paper, "place", place, "access", access, "tier", tier);
    k("id_bytes", id_bytes), k.require("id_bytes", id_bytes == 4 || id_bytes == 8, "4 or 8");
    k("data_bytes", data_bytes, "state_bytes", state_bytes, "device_budget", device_budget, "ms", ms, "ms_statistic", ms_statistic);
    k("prepare_ms", prepare_ms, "iterations", iterations, "link", link, "modelled", modelled, "predicted", predicted);
    k("verified", verified), k.or_null("skipped", skipped);
  }
};

struct run_file {
  static constexpr file_schema schema{"garner.bench.traversal", 1, "traversal"};
  std::string garner, command, time;
  machine_facts machine;
  protocol_facts protocol;
  std::vector<graph_row> graphs;
  std::vector<pattern_row> patterns;
  std::vector<job_row> jobs;

  void keys(auto& k) {
    k("garner", garner, "command", command, "time", time, "machine", machine, "protocol", protocol, "graphs", graphs);
    k("patterns", patterns, "jobs", jobs);
  }
};

[[noreturn]] void no_bench_file(std::string const& text, std::string const& name);  // errc::input, with the reason
std::string read_bench(std::filesystem::path const& file);  // its text, of any schema; errc::io, errc::input for one that is too large

}  // namespace garner::lab
