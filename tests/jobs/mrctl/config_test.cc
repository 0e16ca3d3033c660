#include "jobs/mrctl/config.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;

struct World {
  std::map<std::string, std::string> env, files;
  ConfigSources Sources() const {
    return {[this](const char* name) -> std::optional<std::string> {
              const auto at = env.find(name);
              return at == env.end() ? std::nullopt : std::optional(at->second);
            },
            [this](const std::string& path) -> Result<std::optional<std::string>> {
              const auto at = files.find(path);
              return at == files.end() ? std::optional<std::string>() : std::optional(at->second);
            }};
  }
  std::string Master(const std::string& flag = "") const {
    GlobalOptions flags;
    flags.master = flag;
    auto settings = ResolveSettings(flags, Sources());
    EXPECT_TRUE(settings.ok()) << settings.status().ToString();
    return settings.ok() ? settings->master : "";
  }
};

TEST(ConfigTest, GoesFromFlagOverEnvironmentAndFilesToTheDefault) {
  World world;
  EXPECT_EQ(world.Master(), "127.0.0.1:7070");
  world.files["/etc/mr/config.toml"] = "master = 'etc:1'\n";
  EXPECT_EQ(world.Master(), "etc:1");
  world.env["HOME"] = "/h";
  world.files["/h/.config/mr/config.toml"] = "master = 'home:1'\n";
  EXPECT_EQ(world.Master(), "home:1");
  world.env["XDG_CONFIG_HOME"] = "/x";
  EXPECT_EQ(world.Master(), "etc:1");
  world.files["/x/mr/config.toml"] = "master = 'xdg:1'\n";
  EXPECT_EQ(world.Master(), "xdg:1");
  world.files["mr.toml"] = "master = 'here:1'\n";
  EXPECT_EQ(world.Master(), "here:1");
  world.env["MR_MASTER"] = "env:1";
  EXPECT_EQ(world.Master(), "env:1");
  EXPECT_EQ(world.Master("flag:1"), "flag:1");
}

TEST(ConfigTest, AStatusDescriptorIsOpenForWritingAndNotInherited) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  GlobalOptions flags;
  const auto resolve = [&](int fd) {
    flags.status_fd = fd;
    return ResolveSettings(flags, World().Sources()).status();
  };
  EXPECT_EQ(resolve(ends[0]).code(), Code::kInvalidArgument);
  EXPECT_THAT(resolve(ends[0]).message(), HasSubstr("open for reading only; nothing was run"));
  EXPECT_TRUE(resolve(ends[1]).ok());
  EXPECT_NE(fcntl(ends[1], F_GETFD) & FD_CLOEXEC, 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_THAT(resolve(ends[1]).message(), HasSubstr("no such descriptor is open; nothing was run"));
}

TEST(ConfigTest, RefusesAnUnknownKeyAndNamesFileAndNearest) {
  World world;
  world.files["mr.toml"] = "mastre = 'h:1'\n";
  const auto settings = ResolveSettings({}, world.Sources());
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(settings.status().message(), HasSubstr("mr.toml"));
  EXPECT_THAT(settings.status().message(), HasSubstr("did you mean 'master'"));
}

TEST(ConfigTest, NamesTheOriginOfAWrongValue) {
  World world;
  world.env["MR_TIMEOUT"] = "30";
  EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(), HasSubstr("MR_TIMEOUT"));
  world.env.clear();
  GlobalOptions flags;
  flags.form = "jsno";
  EXPECT_THAT(ResolveSettings(flags, world.Sources()).status().message(), HasSubstr("did you mean 'json'"));
}

TEST(ConfigTest, HonoursNoColorAndDumbTerminals) {
  World world;
  EXPECT_TRUE(ResolveSettings({}, world.Sources())->color);
  world.env["NO_COLOR"] = "1";
  EXPECT_FALSE(ResolveSettings({}, world.Sources())->color);
  world.env = {{"TERM", "dumb"}};
  EXPECT_FALSE(ResolveSettings({}, world.Sources())->color);
}

std::string OriginOf(const Settings& settings, const std::string& key) {
  for (const ShownSetting& s : settings.shown) {
    if (s.key == key) return s.value + " from " + s.origin;
  }
  return "";
}

TEST(ConfigTest, AContextHasTheRankOfThePlaceThatNamesIt) {
  World world;
  world.files["/etc/mr/config.toml"] =
      "[contexts.lab]\nmaster = 'lab:1'\nqueue = 'slow'\n[contexts.prod]\nmaster = 'prod:1'\n";
  EXPECT_EQ(world.Master(), "127.0.0.1:7070");
  world.files["mr.toml"] = "context = 'lab'\n";
  EXPECT_EQ(world.Master(), "lab:1");
  const auto lab = ResolveSettings({}, world.Sources());
  EXPECT_EQ(lab->queue, "slow");
  EXPECT_EQ(lab->context, "lab");
  EXPECT_EQ(lab->context_origin, "mr.toml");
  EXPECT_EQ(OriginOf(*lab, "master"), "lab:1 from /etc/mr/config.toml, context lab");
  EXPECT_EQ(OriginOf(*lab, "output"), "table from default");
  // A file's own setting overrides that of its context. The environment overrides both.
  world.files["mr.toml"] = "context = 'lab'\nmaster = 'here:1'\n";
  EXPECT_EQ(world.Master(), "here:1");
  world.env["MR_CONTEXT"] = "prod";
  EXPECT_EQ(world.Master(), "prod:1");
  EXPECT_EQ(ResolveSettings({}, world.Sources())->queue, "") << "of two contexts the stronger alone is in force";
  world.env["MR_MASTER"] = "env:1";
  EXPECT_EQ(world.Master(), "env:1");
  EXPECT_EQ(world.Master("flag:1"), "flag:1");
}

TEST(ConfigTest, AFileOfHigherRankRefinesAContext) {
  World world;
  world.env = {{"XDG_CONFIG_HOME", "/x"}, {"MR_CONTEXT", "lab"}};
  world.files["/etc/mr/config.toml"] = "[contexts.lab]\nmaster = 'old:1'\nqueue = 'slow'\n";
  world.files["/x/mr/config.toml"] = "[contexts.lab]\nmaster = 'new:1'\n";
  EXPECT_EQ(world.Master(), "new:1");
  EXPECT_EQ(ResolveSettings({}, world.Sources())->queue, "slow");
}

TEST(ConfigTest, RefusesWhatIsWrongWithAContext) {
  World world;
  world.files["mr.toml"] = "[contexts.lab]\nmaster = 'lab:1'\n";
  world.env["MR_CONTEXT"] = "lba";
  EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(),
              HasSubstr("MR_CONTEXT: no file has a context 'lba' (did you mean 'lab'?)"));
  world.env.clear();
  world.files["mr.toml"] = "[contexts.lab]\nmastre = 'lab:1'\n";
  EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(),
              HasSubstr("mr.toml: unknown key 'contexts.lab.mastre' (did you mean 'master'?)"));
  world.files["mr.toml"] = "contxt = 'lab'\n";
  EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(), HasSubstr("did you mean 'context'"));
  world.files["mr.toml"] = "contexts = 'lab'\n";
  EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(), HasSubstr("contexts must be tables"));
}

TEST(ConfigTest, LocalRunsAreKeptBelowTheStateDirectory) {
  World world;
  EXPECT_EQ(ResolveSettings({}, world.Sources())->runs_directory, "");
  world.env["HOME"] = "/h";
  world.env["XDG_STATE_HOME"] = "relative";
  EXPECT_EQ(ResolveSettings({}, world.Sources())->runs_directory, "/h/.local/state/paceline/runs");
  world.env["XDG_STATE_HOME"] = "/s";
  EXPECT_EQ(ResolveSettings({}, world.Sources())->runs_directory, "/s/paceline/runs");
  EXPECT_EQ(ResolveSettings({}, world.Sources())->keep_runs, 200u);
  world.env["MR_KEEP_RUNS"] = "0";
  EXPECT_EQ(ResolveSettings({}, world.Sources())->keep_runs, 0u);
  for (const char* bad : {"none", "-1", "1e3", "99999999999999999999"}) {
    world.env["MR_KEEP_RUNS"] = bad;
    EXPECT_THAT(ResolveSettings({}, world.Sources()).status().message(), HasSubstr("MR_KEEP_RUNS: keep_runs is"))
        << bad;
  }
}

}  // namespace
}  // namespace mr::ctl
