// The JSON Schema of what a verb prints or writes as JSON, made from the program's table of keys (program_of::json_keys;
// cli/json_table.cpp says how it is written) and the keys that all programs share.
#pragma once
#include <string>
#include <string_view>

#include "options.hpp"

namespace garner::cli {

std::string json_verbs();                          // those that write JSON, with blanks between them
std::string json_schema(std::string const& verb);  // draft 2020-12; errc::usage where the verb writes no JSON
std::string json_reference();                      // the second half of docs/reference/json.md; `garner schema --reference` prints it
void add_schema(program& p);                       // the verb

}  // namespace garner::cli
