#include "core/stats.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "core/device.hpp"
#include "core/fail.hpp"

namespace garner {

namespace {
struct registry {
  std::mutex mutex;
  std::vector<counter*> counters;
  std::map<std::string, phase_total> phases;
};
registry& the_registry() {
  static registry* const r = new registry;  // never destroyed: counters of other files may outlive this one
  return *r;
}
}  // namespace

counter::counter(char const* name) : name_(name) {
  std::lock_guard const hold(the_registry().mutex);
  the_registry().counters.push_back(this);
}

phase::phase(char const* name) : name_(name), start_(std::chrono::steady_clock::now()) { device::push_range(name); }
phase::~phase() {
  device::pop_range();
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  try {
    registry& r = the_registry();
    std::lock_guard const hold(r.mutex);
    phase_total& total = r.phases[name_];
    ++total.times;
    total.seconds += seconds;
  } catch (...) {  // out of memory: the end of the phase has a more important error to report
  }
}

std::vector<phase_total> phase_totals() try {
  registry& r = the_registry();
  std::lock_guard const hold(r.mutex);
  std::vector<phase_total> all;
  for (auto const& [name, total] : r.phases) {
    if (!total.times) continue;
    all.push_back(total);
    all.back().name = name;
  }
  return all;
} catch (...) {
  rethrow_as_error();
}

std::vector<counter_value> counter_values() try {
  registry& r = the_registry();
  std::lock_guard const hold(r.mutex);
  std::vector<counter_value> all;
  for (counter const* c : r.counters)
    if (c->value()) all.push_back({c->name(), c->value()});
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  return all;
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
