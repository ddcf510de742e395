// Where the rows, edges and labels of steps come from: mini-batches (sampled_source.cpp), the whole graph (whole_source.cpp), or a shard of
// it (shard_source.cpp). What differs between these is here; the rest of training knows no kind.
#pragma once
#include "nn/train/impl.hpp"

namespace garner {

struct training::impl::step_source {
  explicit step_source(impl& of) : t(of), x(of.x), net(of.m.net) {}
  virtual ~step_source() = default;
  static std::unique_ptr<step_source> sampled(impl& of);
  static std::unique_ptr<step_source> whole(impl& of);
  static std::unique_ptr<step_source> shard(impl& of);

  virtual void leave() {}  // no step comes any more
  virtual std::uint64_t bytes() const { return known.bytes(); }
  virtual bool by_all() const { return false; }  // evaluations too are calls of all ranks
  virtual std::uint64_t blocks() const { return 1; }
  virtual std::uint64_t stream() const { return t.o.rank; }  // of dropout
  virtual void steps(epoch_report& r) = 0;                   // those of the epoch that are left
  // `bias`: what the scores still lack.
  virtual void take_losses(row_block<float> scores, float const* bias, near_labels const& of, std::uint64_t rows, std::uint64_t counted,
                           row_block<float> gradient);
  virtual void share_gradients();  // with the other ranks
  virtual evaluation evaluate() = 0;
  virtual void tell_captured(epoch_report&) {}
  // Names the place of the last step where rows, or their gradients, first are not finite.
  virtual void search_rows(loss_totals const&) {}
  virtual std::string state() const { return {}; }
  virtual void resume(checkpoint const&, std::string const&) {}  // from the fact of that name

  impl& t;
  executor& x;
  network<float>& net;
  near_labels known;  // of the seeds, in their order; with a whole graph of all vertices
};

// Each step takes all vertices that are here.
struct training::impl::graph_source : step_source {
  using step_source::step_source;
  std::uint64_t bytes() const override { return step_source::bytes() + (judge ? judge->bytes() : 0) + numbers.bytes(); }
  void steps(epoch_report& r) override;
  void search_rows(loss_totals const& clean) override;

  virtual void agree_on_step() = 0;
  virtual network<float>::pass pass() = 0;
  virtual std::uint64_t rows() const = 0;
  virtual std::uint64_t position(std::uint64_t row) const { return row; }
  virtual void run_step(std::function<void()> const& work) = 0;  // recorded, where that can be

  void number_steps() { numbers = buffer<step_numbers>(x.near(), 1, x.device(), "numbers of a step"); }
  void judge_anew() {
    if (judge) judge->begin();
    else judge.emplace(x, t.m.options, t.parts);
  }
  network<float>::pass steady_pass() {
    network<float>::pass p = pass();
    p.steady = true;
    return p;
  }

  std::optional<evaluator> judge;
  buffer<step_numbers> numbers;
};

}  // namespace garner
