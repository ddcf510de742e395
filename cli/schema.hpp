// The JSON Schema of what a verb prints or writes as JSON, made from the table of json_table.cpp.
#pragma once
#include <string>
#include <string_view>

namespace garner::cli {

std::string_view json_table();  // its first lines say how it is written

std::string json_verbs();                          // those that write JSON, with blanks between them
std::string json_schema(std::string const& verb);  // draft 2020-12; errc::usage where the verb writes no JSON
std::string json_reference();                      // the second half of docs/reference/json.md; `garner schema --reference` prints it

}  // namespace garner::cli
