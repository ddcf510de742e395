// Full-graph training as tools/measure_whole_graph measured it: an epoch against the GPU memory that it may take, and what bounds it.
#include <fmt/format.h>

#include <algorithm>

#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1 << 30)); }

figure epochs_by_memory(whole_file const& f) {
  figure all("", "epoch by GPU memory allowed");
  all.said = fmt::format(
      "Kronecker {}, {} features, {} layers of {}. All ways have the same losses, bit for bit. Crossing: kept activations once each "
      "way over "
      "the link, or written to the drive and read again, at the rate measured in the same run.",
      f.scale, f.width, f.layers, f.hidden);
  bar_chart c(all.title, "time of an epoch by where activations are, with the GPU memory that is taken", "ms per epoch, smaller is better",
              0, {"crossing", "the rest"});
  all.numbers.head = {"<model", "<activations", "GPU memory", "ms", "crossing, ms", "times all on the GPU", "<bound by"};
  double slowest = 0;
  for (whole_row const& r : f.rows) {
    double const needed = std::min(r.needed_ms().value_or(0), r.ms);
    char const* const where = r.in_file() ? "file" : r.by_two() ? "2 GPUs" : r.moved_ms ? "host" : "GPU";
    c.of(r.model).push_back({fmt::format("{}, {}", gib(r.device_bytes), where), {needed, r.ms - needed}, ms_text(r.ms), true});
    all.row(r.model, r.way, gib(r.device_bytes), r.ms, r.needed_ms(), r.of_one_piece,
            2 * needed < r.ms ? "the GPU"
            : r.in_file()     ? "the drive"
                              : "the link");
    slowest = std::max(slowest, r.in_file() ? 0 : r.of_one_piece);
  }
  if (f.rows.empty()) return all.absent = "nothing was measured", all;
  all.finding = fmt::format("With activations in host memory an epoch takes up to {:.1f} times as long as all on the GPU.", slowest);
  return drawn(std::move(all), c);
}

}  // namespace

std::string section_of(named<whole_file> const& n) {
  return measured_section("Whole graphs larger than the GPU", n.name, n.run, epochs_by_memory(n.run));
}

}  // namespace garner::lab
