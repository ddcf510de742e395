// Results of tools/prove_user: what users' own scripts get, with data in host memory, in GPU memory and next to rivals. Its files have no
// version.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lab/file_head.hpp"

namespace garner::lab {

struct user_row {
  std::string script, rival;
  double ms = 0;                            // per mini-batch or step
  std::optional<double> remote_over_local;  // where a script has a twin whose data are in GPU memory
  std::optional<double> rival_ms;

  void keys(auto& k) {
    k("script", script, "ms", ms);
    if (k.has("remote_over_local")) k("remote_over_local", remote_over_local);
    if (k.has("rival")) k.or_null("rival", rival), k("rival_ms", rival_ms);
  }
};
struct users_file {
  static constexpr file_schema schema{"garner.measure.users", 0, "tools/prove_user", ""};
  std::string device, date, commit, command;
  std::vector<user_row> rows;

  void keys(auto& k) {
    k("device", device, "date", date), k.or_null("commit", commit);
    k("command", command, "rows", rows);
  }
};

}  // namespace garner::lab
