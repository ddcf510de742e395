// The paper's PageRank: every vertex has a value and a residual; a round moves residuals above the tolerance into the values and pushes
// damping / degree of them to the out-neighbors (float atomics). Invariant between rounds: value[v] + residual[v] == (1 - damping) +
// damping (sum over u -> v of value[u] / degree[u]). Cost: per round the edges of the active vertices.
#pragma once
#include <limits>

#include "core/each.hpp"
#include "core/exec.hpp"
#include "core/progress.hpp"
#include "traverse/frontier.hpp"
#include "traverse/job.hpp"
#include "traverse/pagerank_kernels.hpp"
#include "traverse/verify_pagerank.hpp"

namespace garner {

namespace detail {

// Active: vertices whose residual exceeds the threshold. When taken, the residual moves to the value, and to the push buffer.
struct take_residuals {
  std::uint64_t const* offsets;
  std::uint64_t vertices;
  float threshold, damping;
  float *value, *residual, *delta;
  GARNER_HD std::uint32_t word(std::uint64_t w) const {
    std::uint32_t bits = 0;
    std::uint64_t const last = smaller(vertices, w * 32 + 32);
    for (std::uint64_t v = w * 32; v < last; ++v) bits |= residual[v] > threshold ? 1u << v % 32 : 0;
    return bits;
  }
  GARNER_HD void take(std::uint64_t w, std::uint32_t bits) const {
    for (; bits; bits &= bits - 1) {
      std::uint64_t const v = w * 32 + static_cast<std::uint64_t>(lowest_bit(bits)), degree = offsets[v + 1] - offsets[v];
      value[v] += residual[v];
      delta[v] = degree ? residual[v] * damping / static_cast<float>(degree) : 0;
      residual[v] = 0;
    }
  }
};

template <class Id>
struct push_residual {
  static constexpr bool weighted = false;
  float const* delta;
  float* residual;
  template <class Team>
  GARNER_HD void operator()(Team const&, frontier_item<Id> const& at, Id u, std::uint64_t) const {
    atomic_add(residual + u, delta[at.first]);
  }
};

struct sum_values {
  std::uint64_t vertices;
  float const *value, *residual;
  totals* of_block;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t b) const {
    totals const mine = t.sum(indices{b * rank_block, smaller(vertices, (b + 1) * rank_block)}, [&](std::uint64_t v) {
      return totals{static_cast<double>(residual[v]), 0, static_cast<double>(value[v]), static_cast<double>(residual[v])};
    });
    t.once([&] { of_block[b] = mine; });
  }
};

}  // namespace detail

template <class Id>
class residual_push {
 public:
  residual_push(job_setting& job, pagerank_asked const& o, frontier_options const& cut)
      : job_(job),
        options_(o),
        residual_(x_.near(), n_, x_.device(), "residuals"),
        delta_(x_.near(), n_, x_.device(), "residuals"),
        out_(job.view<Id>()),
        front_(x_, job.g.info, job.offsets(), cut, job.costs(out_), job.home<Id>()) {
    front_.read_by(job.windows.get(), job.g.out);
  }

  // done(size, requests): a round has ended; fold(): the sum of the blocks.
  template <class Done, class Fold>
  void run(pagerank_run& r, float* rank, detail::totals* of_block, Done const& done, Fold const& fold) {
    auto const damping = static_cast<float>(options_.damping);
    detail::take_residuals take{job_.offsets(), n_, -1, damping, rank, residual_.data(), delta_.data()};
    x_.fill(rank, 0, n_ * sizeof(float));
    for_each_item<1>(x_, n_, set_each<float>{residual_.data(), 1 - damping});
    front_.gather(take);  // all of them, whatever the tolerance
    take.threshold = tolerance();
    std::uint64_t const most = options_.iterations.value_or(5000);
    while (front_.size().vertices) {
      check_interrupted();
      frontier_size const size = front_.size();
      front_.for_each_arc(out_, detail::push_residual<Id>{delta_.data(), residual_.data()});
      // After the last round residuals stay in place, since none of them would be pushed.
      if (r.rounds.size() + 1 == most) take.threshold = std::numeric_limits<float>::infinity();
      front_.gather(take);
      done(size, x_.on_device() ? frontier<Id>::in_closed_form(size) : job_.model.take());
    }
    for_each_item<32>(x_, (n_ + detail::rank_block - 1) / detail::rank_block, detail::sum_values{n_, rank, residual_.data(), of_block});
    detail::totals const now = fold();
    r.l1_change = now.change;
    r.rank_sum = now.ranks;
    most_ = now.most;
    r.converged = now.most <= static_cast<double>(tolerance());
  }

  // A vertex's inflow exceeds its value by the residual. A sum of k floats has a relative error of at most k 2^-24.
  void check(pagerank_run const& r, float const* rank) {
    double const allowed = r.converged ? static_cast<double>(tolerance()) : most_;
    verify_pagerank(x_,
                    pagerank_claim<Id>{job_.view<Id>(), rank, nullptr, 1.0, options_.damping, false, 1e-6, allowed + 1e-6, 1e-4, 0x1p-24},
                    job_.g, options_.access, job_.windows.get());
  }

 private:
  float tolerance() const { return static_cast<float>(options_.tolerance.value_or(0.001)); }

  job_setting& job_;
  pagerank_asked const& options_;
  executor& x_ = job_.x;
  std::uint64_t const n_ = job_.g.info.vertices;
  buffer<float> residual_, delta_;
  csr_view<Id> out_;
  frontier<Id> front_;
  double most_ = 0;  // residual of the last run
  wait_at_end settled_{x_};
};

}  // namespace garner
