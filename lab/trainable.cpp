#include "lab/trainable.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

#include "core/executor.hpp"
#include "core/fail.hpp"
#include "core/median.hpp"
#include "core/progress.hpp"
#include "core/random.hpp"
#include "lab/graphs.hpp"
#include "lab/now.hpp"
#include "memory/buffer.hpp"
#include "memory/link.hpp"

namespace garner::lab {

namespace {

constexpr std::uint64_t sets = 4, warm = 2, looked_at = 64;  // of ids, used in rotation; warm-up steps; checked rows
constexpr double rate = 0.01;

// Distinct random rows, unordered.
std::vector<std::int64_t> drawn_ids(std::uint64_t rows, std::uint64_t count, std::uint64_t seed, std::uint64_t set) {
  std::vector<std::int64_t> ids;
  std::vector<bool> taken(rows);
  for (std::uint64_t i = 0; ids.size() < count; ++i) {
    std::uint64_t const id = upper_product(random_bits(seed, set, i), rows);
    if (taken[id]) continue;
    taken[id] = true;
    ids.push_back(static_cast<std::int64_t>(id));
  }
  return ids;
}
float gradient_of(std::uint64_t seed, std::uint64_t i) { return unit_float(random_bits(seed, 99, i)) - 0.5f; }

// The first step of one number, from the papers.
double stepped(row_optimizer how, double w, double g) {
  if (how == row_optimizer::sgd) return w - rate * g;
  double const added = how == row_optimizer::adagrad ? 1e-10 : 1e-8 / std::sqrt(1 - 0.999);  // adam: both moments are bias-corrected
  return w - rate * g / (std::abs(g) + added);
}

class bench_of_steps {
 public:
  explicit bench_of_steps(trainable_options const& o) : o_(o), x_(o.where), n_(std::min(o.step_rows, o.rows)) {
    std::vector<float> gradients(n_ * o.width);
    for (std::uint64_t i = 0; i < gradients.size(); ++i) gradients[i] = gradient_of(o.seed, i);
    gradients_ = near(gradients, "gradients");
    for (std::uint64_t k = 0; k < sets; ++k) {
      ids_.push_back(drawn_ids(o.rows, n_, o.seed, k));
      near_ids_.push_back(near(ids_.back(), "ids of a step"));
    }
    out_ = buffer<float>(x_.near(), n_ * o.width, x_.device(), "rows of a step");
    // As many rows outside all sets, if there are some.
    std::vector<bool> asked(o.rows);
    for (auto const& set : ids_)
      for (std::int64_t const id : set) asked[static_cast<std::size_t>(id)] = true;
    for (std::uint64_t id = 0; id < o.rows && others_.size() < looked_at; ++id)
      if (!asked[id]) others_.push_back(static_cast<std::int64_t>(id));
    first_.assign(ids_[0].begin(), ids_[0].begin() + static_cast<std::ptrdiff_t>(std::min(looked_at, n_)));
  }

  trainable_row measure(row_optimizer how, double kept) {
    trainable_row row;
    row.optimizer = to_string(how);
    row.rows = o_.rows, row.width = o_.width, row.step_rows = n_, row.kept = kept;
    embedding_options e;
    e.device = o_.where, e.optimizer = how, e.seed = o_.seed, e.init_scale = 0.1, e.feature_cache = 0;
    unless_too_large(row, [&] {
      row.record_bytes = embedding(1, o_.width, e).record_bytes();
      e.feature_cache = static_cast<std::uint64_t>(std::llround(kept * static_cast<double>(o_.rows))) * row.record_bytes;
      embedding table(o_.rows, o_.width, e);
      run(table, row);
    });
    return row;
  }

 private:
  template <class T>
  buffer<T> near(std::vector<T> const& from, char const* what) {
    buffer<T> to(x_.near(), from.size(), x_.device(), what);
    x_.copy(to.data(), from.data(), to.bytes());
    x_.wait();
    return to;
  }
  void gather(embedding& table, std::uint64_t k) {
    table.gather(std::span<std::int64_t const>(near_ids_[k % sets].data(), n_), row_output(out_.data(), out_.bytes()));
  }
  update_run update(embedding& table, std::uint64_t k) {
    sparse_step s;
    s.learning_rate = rate;
    return table.update(std::span<std::int64_t const>(near_ids_[k % sets].data(), n_), {gradients_.data(), gradients_.size()}, s);
  }
  std::vector<float> rows_of(embedding const& table, std::vector<std::int64_t> const& ids) const {
    std::vector<float> all(ids.size() * o_.width);
    for (std::size_t k = 0; k < ids.size(); ++k)
      table.read("weight", static_cast<std::uint64_t>(ids[k]), 1, std::span(all).subspan(k * o_.width, o_.width));
    return all;
  }

  void run(embedding& table, trainable_row& row) {
    std::string const whose = fmt::format("{}, {:.0f} % of the rows local", row.optimizer, 100 * row.kept);
    check_first_step(table, whose);
    std::vector<double> gathers, updates;
    update_run last;
    progress bar("steps of " + row.optimizer, warm + o_.steps);
    for (std::uint64_t k = 1; k <= warm + o_.steps; ++k) {
      check_interrupted();
      double const begun = now_ms();
      gather(table, k);
      double const gathered = now_ms();
      last = update(table, k);
      x_.wait();
      if (k > warm) {
        gathers.push_back(gathered - begun), updates.push_back(now_ms() - gathered);
        row.far_rows += static_cast<double>(last.remote_rows) / static_cast<double>(o_.steps);
      }
      bar.advance(1);
    }
    row.steps = o_.steps;
    row.remote_bytes = row.far_rows * static_cast<double>(row.record_bytes);
    if (o_.where.kind != device_kind::simulated) {
      auto const mean = [](std::vector<double> const& of) {
        return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
      };
      row.gather_ms = mean(gathers), row.update_ms = mean(updates), row.update_ms_median = median(updates);
    }
    if (x_.on_device()) {
      link_calibration const& link = link_of(x_.device());
      double const in = link.zero_copy_gbs * 1e6, out = link.to_host_gbs * 1e6;  // bytes per ms
      row.gather_floor_ms = row.far_rows * static_cast<double>(o_.width * sizeof(float)) / in;
      row.update_floor_ms = row.remote_bytes / in + row.remote_bytes / out;
    }
    // Results do not depend on the tiers.
    std::vector<float> const found = rows_of(table, first_);
    auto& [name, known] = learned_[row.optimizer];
    if (known.empty()) name = whose, known = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (std::bit_cast<std::uint32_t>(found[i]) != std::bit_cast<std::uint32_t>(known[i]))
        fail(errc::internal, "{}: element {} of row {} is {}, and {} has {}", whose, i % o_.width, first_[i / o_.width], found[i], name,
             known[i]);
  }
  void check_first_step(embedding& table, std::string const& whose) {
    std::vector<float> const before = rows_of(table, first_), others = rows_of(table, others_);
    gather(table, 0);
    std::vector<float> rows(first_.size() * o_.width);
    x_.copy(rows.data(), out_.data(), rows.size() * sizeof(float));
    x_.wait();
    update(table, 0);
    std::vector<float> const after = rows_of(table, first_);
    row_optimizer const how = table.optimizer();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int64_t const id = first_[i / o_.width];
      if (std::bit_cast<std::uint32_t>(rows[i]) != std::bit_cast<std::uint32_t>(before[i]))
        fail(errc::internal, "{}: element {} of row {} was gathered as {}, and is {}", whose, i % o_.width, id, rows[i], before[i]);
      double const wanted = stepped(how, static_cast<double>(before[i]), static_cast<double>(gradient_of(o_.seed, i)));
      if (!(std::abs(static_cast<double>(after[i]) - wanted) <= 1e-5))
        fail(errc::internal, "{}: element {} of row {} became {} by a step, and should be {}", whose, i % o_.width, id, after[i], wanted);
    }
    if (rows_of(table, others_) != others) fail(errc::internal, "{}: a step changed rows without gradients", whose);
  }

  trainable_options const& o_;
  executor x_;
  std::uint64_t n_;
  buffer<float> gradients_, out_;
  std::vector<std::vector<std::int64_t>> ids_;
  std::vector<buffer<std::int64_t>> near_ids_;
  std::vector<std::int64_t> first_, others_;  // rows that are checked
  std::map<std::string, std::pair<std::string, std::vector<float>>> learned_;
};

}  // namespace

std::vector<trainable_row> measure_trainable(trainable_options const& o, std::function<void(trainable_row const&)> const& told) {
  if (o.steps < 1 || o.step_rows < 1) fail(errc::usage, "{} steps of {} rows: use 1 or more", o.steps, o.step_rows);
  std::vector<double> kept{1};
  if (o.where.kind == device_kind::cuda) kept = {1, 0, 0.1};
  if (o.where.kind == device_kind::simulated) kept = {0, 0.1};
  bench_of_steps bench(o);
  std::vector<trainable_row> all;
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
    for (double const part : kept) {
      all.push_back(bench.measure(how, part));
      if (told) told(all.back());
    }
  return all;
}

}  // namespace garner::lab
