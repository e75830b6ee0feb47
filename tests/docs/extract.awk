# extract.awk: prints one C++ file made of the ```cpp blocks of the pages given, for snippets_test.
# A block is a function body of its own, unless it holds main(), or the line before it says
#   <!-- cpp: continued -->              more of the function before
#   <!-- cpp: declarations -->           functions and types that later blocks of the page use
#   <!-- cpp: quoted from PATH -->       a quotation, which pages.sh compares with the source
# A ```text block that follows a block is what it must print.

function close_function() {
  if (open_function) print "}"
  open_function = 0
}

function add_entry() {
  ++entries
  place[entries] = FILENAME ":" FNR
  call[entries] = "page_" pages "::" name
  expected[entries] = ""
}

FNR == 1 {
  close_function()
  if (pages) print "}  // namespace"
  ++pages
  print "namespace page_" pages " {"
  inside = marker = ""
  printing = 0
}

/^```/ && inside != "" {
  if (inside == "main") print "}"
  inside = ""
  next
}

/^```cpp$/ {
  inside = "statements"
  printing = 1
  if (marker ~ /quoted from/) { inside = "quoted"; printing = 0 }
  if (marker ~ /declarations/) { inside = "declarations"; close_function(); printing = 0 }
  if (marker ~ /continued/ && !open_function) {
    print FILENAME ":" FNR ": nothing to continue" > "/dev/stderr"
    exit 1
  }
  if (inside == "statements" && marker !~ /continued/) { close_function(); pending = 1 }
  if (inside != "quoted" && !pending) printf "#line %d \"%s\"\n", FNR + 1, FILENAME
  marker = ""
  next
}

/^```text$/ && printing { inside = "text"; next }
/^```/ { inside = "other"; printing = 0; marker = ""; next }

inside == "text" { expected[entries] = expected[entries] $0 "\n"; next }
inside == "quoted" || inside == "other" { next }

inside != "" {
  # The first lines of a program are hoisted out of any function.
  if (pending && /^(#include|using namespace|$)/) { if (!/^#include/) print; next }
  if (pending) {
    pending = 0
    name = "line_" FNR
    printf "#line %d \"%s\"\n", FNR, FILENAME
    if (/^int main\(\) \{/) {
      name = "main_" FNR
      sub(/^int main\(\)/, "void " name "()")
      inside = "program"
    } else {
      print "void " name "() {"
      printf "#line %d \"%s\"\n", FNR, FILENAME
      open_function = 1
    }
    add_entry()
  }
  print
  next
}

/^<!-- cpp: / { marker = $0; next }
NF { marker = "" }

END {
  close_function()
  if (pages) print "}  // namespace"
  print "const std::vector<Snippet> kSnippets = {"
  for (i = 1; i <= entries; ++i) {
    printf "    {\"%s\", %s, R\"text(%s)text\"},\n", place[i], call[i], expected[i]
  }
  print "};"
}
