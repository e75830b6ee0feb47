# cmake -DROOT=folder -DFILES=a.js,b.css -DOUTPUT=files.cpp -P embed.cmake
# Writes a source file with the text of each file, so that the program carries its pages along.
string(REPLACE "," ";" FILES "${FILES}")
set(source "#include \"apps/web/files.h\"\n\n#include \"backends/error.h\"\n\nnamespace tapir::app {\n\n")
string(APPEND source "std::string_view web_file(std::string_view name) {\n")
foreach(name IN LISTS FILES)
  file(READ ${ROOT}/${name} text)
  string(APPEND source "  if (name == \"${name}\") {\n    return R\"~~~~(${text})~~~~\";\n  }\n")
endforeach()
string(APPEND source "  fail(\"page\", \"there is no part called {}\", name);\n}\n\n}  // namespace tapir::app\n")
file(WRITE ${OUTPUT} "${source}")
