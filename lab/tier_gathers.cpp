#include "lab/tier_gathers.hpp"

#include <algorithm>
#include <cmath>

#include "cli/command/made_rows.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "lab/now.hpp"

namespace garner::lab {

namespace {
constexpr double shares[] = {0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25};
constexpr std::uint64_t most_checked = 4096;
}  // namespace

tier_gathers::tier_gathers(execution_device where, std::uint64_t row_bytes, access_trace const& t)
    : t_(t), row_bytes_(row_bytes), x_(where) {
  table_ = cli::make_rows(t.vertices, row_bytes, x_.device());
  std::uint64_t most = 0;
  for (std::size_t b = 0; b < batches(); ++b) most = std::max(most, t.offsets[b + 1] - t.offsets[b]);
  out_ = memory_block(x_.near(), most * row_bytes, x_.device(), "rows that are gathered");
  std::uint64_t const first = t.offsets[1], step = first / most_checked + 1;
  for (std::uint64_t i = 0; i < first; i += step) some_.push_back(t.rows[i]);
  auto const near = [&](std::uint64_t const* values, std::uint64_t n) {
    buffer<std::uint64_t> b(x_.near(), n, x_.device(), "ids to gather");
    x_.copy(b.data(), values, n * 8);
    x_.wait();
    return b;
  };
  ids_ = near(t.rows.data(), t.rows.size());
  some_ids_ = near(some_.data(), some_.size());
}

id_span tier_gathers::ids_of(std::uint64_t batch) const {
  return {ids_.data() + t_.offsets[batch], t_.offsets[batch + 1] - t_.offsets[batch], 8};
}

void tier_gathers::check(tiered_tensor& table) {
  table.gather({some_ids_.data(), some_.size(), 8}, {out_.data(), out_.bytes()});
  std::vector<unsigned char> got(some_.size() * row_bytes_);
  x_.copy(got.data(), out_.data(), got.size());
  x_.wait();
  for (std::uint64_t k = 0; k < some_.size(); ++k)
    if (auto const b = cli::wrong_byte(some_[k], got.data() + k * row_bytes_, row_bytes_))
      fail(errc::internal, "byte {} of row {} came wrong ({})", *b, some_[k], table.about());
}

tier_gather tier_gathers::gather(tiered_tensor& table, double kept) {
  tier_gather g{kept, 0, std::nullopt};
  auto const mean = [&](double sum) { return sum / static_cast<double>(batches()); };
  if (x_.where().kind != device_kind::cpu) {
    std::uint64_t far = 0;
    for (std::uint64_t b = 0; b < batches(); ++b) far += table.hits(ids_of(b))[tier::host];
    g.link_bytes = mean(static_cast<double>(far * row_bytes_));
  }
  if (x_.where().kind == device_kind::simulated) return g;
  table.gather(ids_of(0), {out_.data(), out_.bytes()});  // allocates the sort buffers
  double const start = now_ms();
  for (std::uint64_t b = 0; b < batches(); ++b) table.gather(ids_of(b), {out_.data(), out_.bytes()});
  g.ms = mean(now_ms() - start);
  return g;
}

std::vector<tier_gather> tier_gathers::measure(std::vector<float> const& score) {
  if (!at_host_.empty()) return at_host_;
  bool const host = x_.where().kind == device_kind::cpu;
  std::vector<tier_gather> all;
  progress told("gathering", host ? 1 : std::size(shares));
  for (double const kept : shares) {
    tiered_options o;
    o.device = x_.where();
    o.feature_cache = static_cast<std::uint64_t>(std::llround(kept * static_cast<double>(t_.vertices))) * row_bytes_;
    o.scores = score;
    tiered_tensor table({table_.data(), t_.vertices, row_bytes_, element::u8}, o);
    check(table);
    all.push_back(gather(table, kept));
    told.advance(1);
    if (host) break;
  }
  if (host) at_host_ = all;
  return all;
}

}  // namespace garner::lab
