// SPDX-License-Identifier: Apache-2.0
// The frame of the page: who is logged in, where one can go, where one is.
import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import "@preact/signals";
import { closeSession, loadSession, online, session } from "./api";
import { lang, switchLanguage, t, type Key } from "./i18n";
import { href, route } from "./router";
import { switchTheme, theme } from "./theme";
import { Failure, Guard, Loading, Page, Question } from "./ui";
import { Login, useCode, useLink } from "./login";
import { Jobs } from "./jobs";
import { JobPage } from "./job";
import { Create } from "./create";
import { Runs } from "./runs";
import { RunPage } from "./training";
import { followChanges } from "./live";
import { ExperimentPage, Experiments } from "./experiments";
import { Datasets, Schedules, Usage } from "./lists";
import { ModelsView, ServingPage } from "./models";
import { ClustersPage } from "./clusters";
import "./style.css";

const SECTIONS: [string, Key][] = [
  ["jobs", "nav.jobs"],
  ["runs", "nav.runs"],
  ["experiments", "nav.experiments"],
  ["models", "nav.models"],
  ["datasets", "nav.datasets"],
  ["schedules", "nav.schedules"],
  ["clusters", "nav.clusters"],
  ["usage", "nav.usage"],
];

function View() {
  const [section = "jobs", id] = route.value.parts;
  switch (section) {
    case "jobs":
      return id === "new" ? <Create /> : id ? <JobPage id={id} key={id} /> : <Jobs />;
    case "runs":
      return id ? <RunPage id={id} key={id} /> : <Runs />;
    case "experiments":
      return id ? <ExperimentPage id={id} key={id} /> : <Experiments />;
    case "models":
      return <ModelsView />;
    case "serving":
      return id ? <ServingPage name={id} key={id} /> : <ModelsView />;
    case "clusters":
      return <ClustersPage />;
    case "datasets":
      return <Datasets />;
    case "schedules":
      return <Schedules />;
    case "usage":
      return <Usage />;
    default:
      return <Page title={t("common.nothing")}><p>{t("common.notFound")}</p></Page>;
  }
}

function Frame() {
  const first = route.value.parts[0] ?? "jobs";
  const here = first === "serving" ? "models" : first;
  useLayoutEffect(() => { // until the page knows what it shows
    document.title = `${t(SECTIONS.find(([k]) => k === here)?.[1] ?? "common.nothing")} · ${t("app.name")}`;
  }, [route.value.parts.join("/"), lang.value]);
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>{t("nav.skip")}</a>
      <nav class="side" aria-label={t("nav.label")}>
        <a class="brand" href={href(["jobs"])}><span aria-hidden="true" class="logo" />{t("app.name")}</a>
        <ul>
          {SECTIONS.map(([k, label]) => (
            <li key={k}><a href={href([k])} aria-current={k === here ? "page" : undefined}>{t(label)}</a></li>
          ))}
        </ul>
        <div class="who">
          <span class="user">{session.value?.name}<span class="dim"> {session.value?.role}</span></span>
          <div class="actions">
            <button type="button" class="small" onClick={switchTheme} aria-label={t("bar.theme")}>{theme.value === "dark" ? "☀" : "☾"}</button>
            <button type="button" class="small" onClick={switchLanguage} lang={lang.value === "en" ? "zh" : "en"}>{t("bar.language")}</button>
            <button type="button" class="small" onClick={() => void closeSession()}>{t("bar.logout")}</button>
          </div>
          <span class="dim version">{session.value?.version}</span>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        {!online.value && <p class="offline" role="status">{t("bar.offline")}</p>}
        <Guard key={route.value.parts.join("/")}><View /></Guard>
      </main>
      <Question />
    </>
  );
}

function App() {
  const [linkFailed, setLinkFailed] = useState(false);
  const [codeFailed, setCodeFailed] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    let timer = 0;
    const begin = async () => {
      try {
        setLinkFailed(await useLink());
        if (!session.peek()) setCodeFailed(await useCode());
        if (!session.peek()) await loadSession();
        setError(undefined);
      } catch (e) {
        setError(e);
        timer = window.setTimeout(begin, 2000);
      }
    };
    void begin();
    return () => clearTimeout(timer);
  }, []);
  if (error) return <Failure error={error} />;
  if (session.value === undefined) return <Loading />;
  return session.value ? <Frame /> : <Login linkFailed={linkFailed} codeFailed={codeFailed} />;
}

followChanges();
render(<App />, document.getElementById("app")!);
