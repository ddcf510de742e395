#include "pack_options.hpp"

#include <chrono>

#include "common.hpp"
#include "core/fail.hpp"
#include "graph/pack.hpp"
#include "memory/budget.hpp"
#include "traverse/hints.hpp"

namespace garner::cli {

void pack_arguments::add(CLI::App& verb) {
  verb.add_flag("--compress", compress, "pack neighbour lists and weights; all jobs run on packed lists and give the same results");
  add_number(verb, "--keep-hints", hints,
             "also keep the 1 to 4 best neighbours of every vertex in the file, so that jobs need not look for them (default: none)");
}

void pack_arguments::require_container(std::string const& out, bool is_container) const {
  if (any() && !is_container) fail(errc::usage, "{}: only a container (.gnr) holds packed lists and hints", out);
  if (hints > most_hints) fail(errc::usage, "--keep-hints {}: say 1 to {}", hints, most_hints);
}

void pack_arguments::apply(graph& g, place where) const {
  using clock = std::chrono::steady_clock;
  auto const seconds = [](clock::time_point since) { return std::chrono::duration<double>(clock::now() - since).count(); };
  if (hints) {
    auto const start = clock::now();
    keep_hints(g, where, hints);
    say("hints: {} a vertex, {}; {:.2f} s\n", hints, format_bytes(g.hints.bytes()), seconds(start));
  }
  if (!compress || g.info.packed) return;
  auto const start = clock::now();
  auto const plain = g.out.targets.bytes() + g.out.weights.bytes() + g.in.targets.bytes() + g.in.weights.bytes();
  pack(g);
  auto const bits = [&](packed_array const& a) {
    return g.info.edges ? static_cast<double>(a.bytes()) * 8 / static_cast<double>(g.info.edges) : 0.0;
  };
  auto const packed =
      g.out.packed_targets.bytes() + g.out.packed_weights.bytes() + g.in.packed_targets.bytes() + g.in.packed_weights.bytes();
  say("packed: {} to {}, {:.2f} bits an edge", format_bytes(plain), format_bytes(packed), bits(g.out.packed_targets));
  if (g.info.weights != weight_kind::none) say(" and {:.2f} of weights", bits(g.out.packed_weights));
  say("; {:.2f} s\n", seconds(start));
}

}  // namespace garner::cli
