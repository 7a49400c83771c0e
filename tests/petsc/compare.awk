# Compares what two programs printed: words exactly, numbers with a decimal point or exponent within rtol of each other or
# both below atol, whole numbers exactly; with integers=1, whole numbers may differ by one. Prints what differs.
function tokens(line, list,    n, text) {
  gsub(/[ \t]+/, " ", line)
  sub(/^ /, "", line); sub(/ $/, "", line)
  n = 0
  while (match(line, /[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|[-+]?\.[0-9]+([eE][-+]?[0-9]+)?/)) {
    list[++n] = substr(line, 1, RSTART - 1)
    list[++n] = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
  }
  list[++n] = line
  return n
}
function size(x) { return x < 0 ? -x : x }
function close_to(a, b) {
  if (a == b) return 1
  if (a ~ /[.eE]/ || b ~ /[.eE]/) {
    a += 0; b += 0
    return size(a - b) <= rtol * (size(a) > size(b) ? size(a) : size(b)) || (size(a) < atol && size(b) < atol)
  }
  return integers && size(a - b) <= 1
}
function differ(a, b,    p, q, i, np, nq) {
  np = tokens(a, p); nq = tokens(b, q)
  if (np != nq) return 1
  for (i = 1; i <= np; i++)
    if (i % 2 ? p[i] != q[i] : !close_to(p[i], q[i])) return 1
  return 0
}
BEGIN {
  rtol = 1e-4; atol = 1e-8
  first = ARGV[1]; second = ARGV[2]
  do {
    more1 = (getline a < first) > 0
    more2 = (getline b < second) > 0
    if (!more1) a = ""
    if (!more2) b = ""
    if (more1 != more2 || (more1 && differ(a, b))) { bad++; if (bad <= 5) { print "< " a; print "> " b } }
  } while (more1 || more2)
  exit bad > 0
}
