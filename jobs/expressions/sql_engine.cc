#include "jobs/expressions/sql_engine.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <set>
#include <stdexcept>

#include "jobs/expressions/sql_functions.h"
#include "jobs/expressions/tokens.h"

namespace mr::expr {

struct SqlState {
  struct Statement {
    sqlite3_stmt* compiled = nullptr;
    size_t results = 0;
  };

  std::vector<Column> columns;
  sqlite3_vfs clock{};  // the system's, with the time of the constants
  std::string clock_name;
  sqlite3_int64 now_julian_ms = 0;  // 0: unknown
  bool lacks_now = false;           // and was needed
  sqlite3* db = nullptr;
  RowRandom random;
  std::vector<Statement> statements;
  const Cell* cells = nullptr;
  std::set<uint32_t> used;
  int selects = 0;      // of the statement that is being compiled
  std::string refused;  // why the authorizer refused it
  std::string error;    // of Run

  ~SqlState() {
    for (const Statement& statement : statements) sqlite3_finalize(statement.compiled);
    sqlite3_close(db);
    if (!clock_name.empty()) sqlite3_vfs_unregister(&clock);
  }
};

namespace {

// Bytes of the largest text that an expression may make: four of the largest records (common/abi/batch.h).
constexpr int kMostTextBytes = 64 << 20;
// Milliseconds from the start of Julian days to 1970.
constexpr sqlite3_int64 kUnixEpochMs = 210866760000000;

// ---- The virtual table. It has a row at any time, and each step of a statement asks for the next one. ----

struct RowTable {
  sqlite3_vtab base;
  const SqlState* state;
};

int Connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char**) {
  const auto* state = static_cast<const SqlState*>(aux);
  std::string columns;
  for (const Column& column : state->columns) {
    columns += (columns.empty() ? "" : ", ") + QuoteName(column.name) +
               (column.type == Type::kInt    ? " INTEGER"
                : column.type == Type::kReal ? " REAL"
                                             : " TEXT");
  }
  if (columns.empty()) columns = "\"no columns\" TEXT";
  const int code = sqlite3_declare_vtab(db, ("CREATE TABLE x(" + columns + ")").c_str());
  if (code != SQLITE_OK) return code;
  auto* table = new (std::nothrow) RowTable{{}, state};
  *out = reinterpret_cast<sqlite3_vtab*>(table);
  return table == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}
int BestIndex(sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; }
int Disconnect(sqlite3_vtab* table) {
  delete reinterpret_cast<RowTable*>(table);
  return SQLITE_OK;
}
int Open(sqlite3_vtab*, sqlite3_vtab_cursor** out) {
  *out = new (std::nothrow) sqlite3_vtab_cursor{};
  return *out == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}
int Close(sqlite3_vtab_cursor* cursor) {
  delete cursor;
  return SQLITE_OK;
}
int Filter(sqlite3_vtab_cursor*, int, const char*, int, sqlite3_value**) { return SQLITE_OK; }
int Next(sqlite3_vtab_cursor*) { return SQLITE_OK; }
int Eof(sqlite3_vtab_cursor*) { return 0; }
int RowId(sqlite3_vtab_cursor*, sqlite3_int64* id) {
  *id = 1;
  return SQLITE_OK;
}
int ValueOf(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
  const Cell& cell = reinterpret_cast<RowTable*>(cursor->pVtab)->state->cells[column];
  switch (cell.kind) {
    case Cell::Kind::kNull: sqlite3_result_null(context); break;
    case Cell::Kind::kInt: sqlite3_result_int64(context, cell.whole); break;
    case Cell::Kind::kReal: sqlite3_result_double(context, cell.real); break;
    case Cell::Kind::kText:
      sqlite3_result_text64(context, cell.text.empty() ? "" : cell.text.data(), cell.text.size(), SQLITE_STATIC,
                            SQLITE_UTF8);
      break;
  }
  return SQLITE_OK;
}

sqlite3_module MakeModule() {
  sqlite3_module module{};
  module.xConnect = Connect;
  module.xBestIndex = BestIndex;
  module.xDisconnect = Disconnect;
  module.xOpen = Open;
  module.xClose = Close;
  module.xFilter = Filter;
  module.xNext = Next;
  module.xEof = Eof;
  module.xColumn = ValueOf;
  module.xRowid = RowId;
  return module;
}
const sqlite3_module kRowModule = MakeModule();

// ---- Rules for expressions ----

bool HasColumn(const SqlState& state, const char* name) {
  return std::any_of(state.columns.begin(), state.columns.end(),
                     [&](const Column& c) { return SameName(c.name, name); });
}

// Allows reading columns and calling functions. Refuses everything else, such as a second SELECT.
int Authorize(void* context, int action, const char*, const char* second, const char*, const char*) {
  auto* state = static_cast<SqlState*>(context);
  switch (action) {
    case SQLITE_SELECT:
      if (++state->selects == 1) return SQLITE_OK;
      state->refused = "it has a SELECT of its own; an expression sees one row";
      return SQLITE_DENY;
    case SQLITE_READ:
      if (second != nullptr && SameName(second, "ROWID") && !HasColumn(*state, second)) {
        state->refused = "rows have no rowid";
        return SQLITE_DENY;
      }
      for (uint32_t i = 0; second != nullptr && i < state->columns.size(); ++i) {
        if (SameName(state->columns[i].name, second)) state->used.insert(i);
      }
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (second != nullptr && MayCall(second)) return SQLITE_OK;
      state->refused = std::string("the function ") + (second == nullptr ? "" : second) +
                       "() is not available: its result does not follow from the row";
      return SQLITE_DENY;
    default: state->refused = "it is more than an expression"; return SQLITE_DENY;
  }
}

int CurrentTime(sqlite3_vfs* vfs, sqlite3_int64* julian_ms) {
  auto* const state = static_cast<SqlState*>(vfs->pAppData);
  *julian_ms = state->now_julian_ms;
  if (state->now_julian_ms != 0) return SQLITE_OK;
  state->lacks_now = true;
  return SQLITE_ERROR;
}
int CurrentDay(sqlite3_vfs* vfs, double* julian_days) {
  sqlite3_int64 julian_ms = 0;
  const int code = CurrentTime(vfs, &julian_ms);
  *julian_days = static_cast<double>(julian_ms) / 86400000.0;
  return code;
}

// Gives the database a clock that stands still. Nothing else of the file system is used: the database is in memory.
void MakeClock(const Constants& constants, SqlState* state) {
  static std::atomic<uint64_t> made{0};
  if (constants.now_unix_ms != 0) state->now_julian_ms = kUnixEpochMs + constants.now_unix_ms;
  const sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) throw std::runtime_error("SQLite has no file system");
  state->clock = *system;
  state->clock_name = "row_clock_" + std::to_string(++made);
  state->clock.zName = state->clock_name.c_str();
  state->clock.pNext = nullptr;
  state->clock.pAppData = state;
  state->clock.xCurrentTime = CurrentDay;
  state->clock.xCurrentTimeInt64 = CurrentTime;
  if (sqlite3_vfs_register(&state->clock, 0) != SQLITE_OK) throw std::bad_alloc();
}

// Returns the name in SQLite's message "no such column: x", or "".
std::string MissingColumn(std::string_view message) {
  constexpr std::string_view kPrefix = "no such column: ";
  return std::string(message.substr(0, kPrefix.size()) == kPrefix ? message.substr(kPrefix.size()) : "");
}

// Returns the TYPE of a CAST to a number by SQLite's rules of affinity, or null for other types. name: in capitals.
const char* NumericType(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != name.npos; };
  if (has("INT")) return kCastToInteger.data();
  if (name.empty() || has("CHAR") || has("CLOB") || has("TEXT") || has("BLOB")) return nullptr;
  return has("REAL") || has("FLOA") || has("DOUB") ? "REAL" : kCastToNumeric.data();
}

// Returns the expression with CAST(X AS TYPE) written as CAST(cast_argument(X, 'TYPE') AS TYPE) for types of numbers.
// SQLite's own CAST takes '1,234' for 1 and 'n/a' for 0.
std::string WithCheckedCasts(const std::string& expression) {
  std::string ignored;
  const auto tokens = Tokenize(expression, &ignored);
  std::map<size_t, std::string> inserted;  // by offset
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != Token::Kind::kName || !SameName(tokens[i].text, "cast") || tokens[i + 1].text != "(")
      continue;
    size_t as = 0;
    int depth = 1;
    std::string type;
    for (size_t at = i + 2; at < tokens.size() && depth > 0; ++at) {
      depth += tokens[at].text == "(" ? 1 : tokens[at].text == ")" ? -1 : 0;
      if (depth == 1 && tokens[at].kind == Token::Kind::kName && SameName(tokens[at].text, "as")) {
        as = at;
        type.clear();
      } else if (as != 0 && depth == 1) {
        for (const char c : tokens[at].text) type += c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
      }
    }
    const char* const to = NumericType(type);
    if (as == 0 || to == nullptr) continue;
    inserted[tokens[i + 1].at + 1] += std::string(kCastArgument) + "(";
    inserted[tokens[as].at].insert(0, ", '" + std::string(to) + "') ");
  }
  std::string out;
  size_t copied = 0;
  for (const auto& [at, text] : inserted) {
    out += expression.substr(copied, at - copied) + text;
    copied = at;
  }
  return out + expression.substr(copied);
}

// Returns the expression with real numbers replaced by parameters, whose values are appended. SQLite's own conversion
// of decimals is off by one bit for some, so that 0.1 in a column would differ from 0.1 in an expression.
std::string WithParameters(const std::string& expression, std::vector<double>* reals) {
  std::string out, ignored;
  size_t copied = 0;
  for (const Token& token : Tokenize(expression, &ignored)) {
    double real = 0;
    if (token.kind != Token::Kind::kNumber || token.text.find_first_of(".eE") == token.text.npos ||
        !ParseReal(token.text, '.', &real)) {
      continue;
    }
    reals->push_back(real);
    out += expression.substr(copied, token.at - copied) + "?" + std::to_string(reals->size());
    copied = token.at + token.text.size();
  }
  return out + expression.substr(copied);
}

sqlite3_stmt* Compile(SqlState* state, const std::string& sql, std::string* wrong, std::string* missing) {
  state->selects = 0;
  state->refused.clear();
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(state->db, sql.c_str(), static_cast<int>(sql.size() + 1),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code == SQLITE_OK) return statement;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  *wrong = state->refused.empty() ? sqlite3_errmsg(state->db) : state->refused;
  *missing = MissingColumn(*wrong);
  return nullptr;
}

}  // namespace

bool IsKeyword(std::string_view word) { return sqlite3_keyword_check(word.data(), static_cast<int>(word.size())) != 0; }

SqlEngine::SqlEngine(std::vector<Column> columns, const Constants& constants) : state_(std::make_unique<SqlState>()) {
  state_->columns = std::move(columns);
  state_->random.seed = constants.seed;
  // Local time depends on the worker: its conversion fails for the row, also where a column has the modifier.
  sqlite3_test_control(SQLITE_TESTCTRL_LOCALTIME_FAULT, 1);
  MakeClock(constants, state_.get());
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(":memory:", &state_->db, flags, state_->clock_name.c_str()) != SQLITE_OK) throw std::bad_alloc();
  sqlite3* db = state_->db;
  for (const int option : {SQLITE_DBCONFIG_DQS_DML, SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    sqlite3_db_config(db, option, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostTextBytes);
  if (sqlite3_create_module(db, "row", &kRowModule, state_.get()) != SQLITE_OK) throw std::bad_alloc();
  AddFunctions(db, &state_->random);
  // Makes the table, which expressions may not.
  if (sqlite3_exec(db, "SELECT 1 FROM row WHERE 0", nullptr, nullptr, nullptr) != SQLITE_OK) throw std::bad_alloc();
  sqlite3_set_authorizer(db, Authorize, state_.get());
}

SqlEngine::~SqlEngine() = default;

size_t SqlEngine::Add(const std::vector<std::string>& expressions, bool condition, std::string* wrong,
                      std::string* missing) {
  std::string list;
  std::vector<double> reals;
  for (const std::string& expression : expressions) {
    // Aggregate and window functions are errors in a WHERE.
    sqlite3_finalize(Compile(state_.get(), "SELECT 1 FROM row WHERE (" + expression + ")", wrong, missing));
    if (!wrong->empty()) {
      if (expressions.size() > 1) *wrong += " in: " + expression;
      return 0;
    }
    const std::string bound = WithParameters(WithCheckedCasts(expression), &reals);
    list += list.empty() ? "" : ", ";
    list += condition ? "CASE WHEN (" + bound + ") THEN 1 ELSE 0 END" : "(" + bound + ")";
  }
  sqlite3_stmt* statement = Compile(state_.get(), "SELECT " + list + " FROM row", wrong, missing);
  if (!wrong->empty()) return 0;
  for (size_t i = 0; i < reals.size(); ++i) sqlite3_bind_double(statement, static_cast<int>(i + 1), reals[i]);
  state_->statements.push_back({statement, expressions.size()});
  return state_->statements.size() - 1;
}

std::vector<uint32_t> SqlEngine::UsedColumns() const { return {state_->used.begin(), state_->used.end()}; }

void SqlEngine::SetRow(const Cell* cells, uint64_t position) {
  state_->cells = cells;
  state_->random.position = position;
  state_->random.calls = 0;
}

bool SqlEngine::lacks_now() const { return state_->lacks_now; }

const char* SqlEngine::Run(size_t set, std::vector<Cell>* results) {
  const SqlState::Statement& statement = state_->statements[set];
  const int code = sqlite3_step(statement.compiled);
  if (code != SQLITE_ROW) {
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    state_->error = sqlite3_errmsg(state_->db);
    sqlite3_reset(statement.compiled);
    return state_->error.c_str();
  }
  results->resize(statement.results);
  for (size_t i = 0; i < statement.results; ++i) {
    Cell& cell = (*results)[i];
    const int column = static_cast<int>(i);
    switch (sqlite3_column_type(statement.compiled, column)) {
      case SQLITE_INTEGER: cell = {Cell::Kind::kInt, sqlite3_column_int64(statement.compiled, column), 0, {}}; break;
      case SQLITE_FLOAT: cell = {Cell::Kind::kReal, 0, sqlite3_column_double(statement.compiled, column), {}}; break;
      case SQLITE_NULL: cell = {}; break;
      default: {
        const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement.compiled, column));
        const auto size = static_cast<size_t>(sqlite3_column_bytes(statement.compiled, column));
        cell = {Cell::Kind::kText, 0, 0, bytes == nullptr ? std::string_view() : std::string_view(bytes, size)};
      }
    }
  }
  return nullptr;
}

}  // namespace mr::expr
