// `garner doctor`: whether Garner works on this machine, and what helps where it does not. The checks are the library's.
#include "garner/doctor.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "core/fail.hpp"
#include "verbs.hpp"

namespace garner {

namespace {
using json = nlohmann::ordered_json;

void examine(std::string const& where, bool as_json) {
  doctor_report const r = examine_machine(where.empty() ? std::nullopt : std::optional(parse_place(where)));
  if (as_json) {
    json all{{"usable", r.usable}, {"checks", json::array()}};
    for (doctor_check const& c : r.checks)
      all["checks"].push_back({{"name", c.name}, {"found", c.found}, {"advice", c.advice.empty() ? json() : json(c.advice)}});
    cli::say("{}\n", all.dump(2));
  } else {
    cli::say("{}", to_text(r));
  }
  cli::flush_out();
  if (!r.usable) fail(errc::device, "Garner does not work as it should on this machine; the lines with -> say what helps");
}
}  // namespace

void add_doctor(cli::program& p) {
  struct settings {
    std::string where;
    bool as_json = false;
  };
  cli::verb& v = p.add("doctor", "whether Garner works on this machine, GPU by GPU, and what helps where it does not");
  auto const s = std::make_shared<settings>();
  v.add("--place", s->where, "whose self-test runs: host, device, device:N or simulated (default: every GPU, else host)");
  v.add("--json", s->as_json);
  v.ends_with("Exits with 1 where a GPU is there and cannot be used, or a self-test fails. Example: garner doctor");
  v.runs([s] { examine(s->where, s->as_json); });
}

}  // namespace garner
