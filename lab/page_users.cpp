// What users' own scripts get, as tools/prove_user measured it: remote over local is the first figure of a page.
#include <fmt/format.h>

#include <algorithm>

#include "lab/chart.hpp"
#include "lab/figure.hpp"
#include "lab/page.hpp"

namespace garner::lab {

namespace {

figure remote_over_local(users_file const& f) {
  figure all("", "remote over local, by script");
  all.said =
      "Remote: features, or features and adjacency, are in host memory, some perhaps cached on the GPU. Local: the same script with all "
      "data in GPU memory, in the same run. \"Under SAGE\" are whole training steps, the others load only.";
  bar_chart c(all.title, "time with remote data over the time with local data", "times as long, smaller is better", 1.25, {},
              {{1, "local"}});
  all.numbers.head = {"<script", "ms", "remote / local", "<rival", "rival, ms"};
  std::vector<double> ratios;
  for (user_row const& r : f.rows) {
    all.row(r.script, r.ms, r.remote_over_local, r.rival.empty() ? "-" : r.rival, r.rival_ms);
    if (!r.remote_over_local) continue;
    c.add(r.script, "remote", r.remote_over_local, true);
    ratios.push_back(*r.remote_over_local);
  }
  if (ratios.empty()) return all.absent = "no script has a twin with local data", all;
  std::sort(ratios.begin(), ratios.end());
  all.finding = fmt::format("With remote data {} scripts take {:.2f} to {:.2f} times as long as with local data; the median is {:.2f}.",
                            ratios.size(), ratios.front(), ratios.back(), ratios[ratios.size() / 2]);
  return drawn(std::move(all), c);
}

}  // namespace

std::string section_of(named<users_file> const& n) { return measured_section("Users' scripts", n.name, n.run, remote_over_local(n.run)); }

}  // namespace garner::lab
