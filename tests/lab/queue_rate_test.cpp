// Both strategies are measured, and the pages are compared; their rates need a dedicated machine.
#include "lab/queue_rate.hpp"

#include <fmt/format.h>

#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;
using namespace garner::lab;

class queue_rates : public at_place {};
TEST_P(queue_rates, are_measured) {
  queue_rate_options o;
  o.where = where();
  o.threads = 2, o.queues = 4, o.depth = 64, o.at_once = 1000, o.pages = 5000, o.trials = 2;
  queue_rate const r = measure_queues(o);
  EXPECT_GT(r.by_rings, 100);
  EXPECT_GT(r.by_host, 100);
  EXPECT_GE(r.commands_a_doorbell, 1);
  EXPECT_EQ(r.pages, 5000u);
  RecordProperty("by_rings", std::to_string(r.by_rings));
  RecordProperty("by_host", std::to_string(r.by_host));
}
// For benchmarks (tools/prove_storage): the cost of the rings on a drive without latency.
TEST_P(queue_rates, DISABLED_measured_at_full_rate) {
  queue_rate_options o;
  o.where = where();
  o.pages = GetParam() == device_kind::cuda ? 4u << 20 : 1u << 18;
  queue_rate const r = measure_queues(o);
  fmt::print("{:.3f} M pages a second by rings, {:.3f} M pages a second by the host: {:.2f} x; {:.1f} commands a doorbell\n",
             r.by_rings / 1e6, r.by_host / 1e6, r.by_rings / r.by_host, r.commands_a_doorbell);
}
GARNER_AT_EVERY_PLACE(queue_rates);

TEST(QueueRates, WhatMakesNoSense) {
  queue_rate_options o;
  o.pages = 10;
  EXPECT_NE(error_of([&] { measure_queues(o); }).find("no more at once than there are"), std::string::npos);
}

}  // namespace
}  // namespace garner
