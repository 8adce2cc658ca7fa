import { Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Route, Router, Switch, useLocation } from 'wouter';
import { BrokerFrame } from './broker-frame.tsx';
import { NoScreen } from './error-pages/no-screen.tsx';
import { ScreenFailure } from './error-pages/screen-failure.tsx';
import { Frame } from './frame.tsx';
import { OWN_SERVICE } from './graph/own-service.ts';
import { ServiceContext } from './graph/service.ts';
import { ProjectFrame } from './project-frame.tsx';
import { SCREENS } from './screens.tsx';
import { forgetRecent } from './search/recent.ts';
import { AcceptInvitation, secretInAddress } from './session/accept-invitation.tsx';
import { signOut } from './session/session.ts';
import { SignIn } from './session/sign-in.tsx';
import { useSession } from './session/use-session.ts';
import { ViewerContext } from './session/viewer.ts';
import { firstLanguage, type LoadedLanguage, loadLanguage, storeLanguage } from './texts/languages.ts';
import { Language } from './texts/texts.ts';
import { useScreenLocation } from './ui/hash-location.ts';
import { later, loaded } from './ui/later.ts';
import { NoticeBoard } from './ui/notices.tsx';
import { Problem } from './ui/problem.tsx';
import { storedViews } from './ui/stored-views.ts';
import { ViewStoreContext } from './ui/view-store.ts';
import './font/font.css';
import './ui/controls.css';
import './ui/navigation.css';
import './ui/print.css';
import './ui/state.css';
import { applyTheme, storedTheme } from './user-menu/theme.ts';
import './ui/style.css';

const RequiredSecondFactor = later(
  async () => (await import('./own-account/required-second-factor.tsx')).RequiredSecondFactor,
);

const languageOf = (tag: string): Promise<LoadedLanguage> => loaded(() => loadLanguage(tag));

function Console({ first }: { readonly first: LoadedLanguage }) {
  const [language, setLanguage] = useState(first);
  const { viewer, error, hasEnded, renew } = useSession();
  const [invitation, setInvitation] = useState(secretInAddress);
  useEffect(() => {
    document.documentElement.lang = language.tag;
  }, [language]);
  const choose = async (tag: string) => {
    storeLanguage(tag);
    const chosen = await languageOf(tag);
    // Another one may have been chosen while this one was loaded.
    if (firstLanguage() === tag) setLanguage(chosen);
  };
  const leave = async () => {
    await signOut();
    forgetRecent();
    location.reload();
  };
  const accepted = () => {
    setInvitation(null);
    renew();
  };
  if (invitation !== null) {
    return (
      <Language.Provider value={language}>
        <AcceptInvitation secret={invitation} onAccepted={accepted} />
      </Language.Provider>
    );
  }
  return (
    <Language.Provider value={language}>
      {viewer === undefined && <Problem error={error} />}
      {viewer === null && <SignIn hasEnded={hasEnded} onSignedIn={renew} />}
      {viewer?.isSecondFactorMissing && (
        <Suspense>
          <RequiredSecondFactor onClosed={renew} onSignOut={() => void leave()} />
        </Suspense>
      )}
      {viewer && !viewer.isSecondFactorMissing && (
        <ViewerContext.Provider key={viewer.sessionId} value={viewer}>
          <Router hook={useScreenLocation}>
            <Frame language={language.tag} onLanguage={(tag) => void choose(tag)} onSignOut={() => void leave()}>
              <NoticeBoard>
                <CurrentScreen />
              </NoticeBoard>
            </Frame>
          </Router>
        </ViewerContext.Provider>
      )}
    </Language.Provider>
  );
}

function CurrentScreen() {
  const [address] = useLocation();
  return (
    <ScreenFailure address={address}>
      <Suspense fallback={<Problem error={null} />}>
        <Switch>
          <Route path="/brokers/:broker/*?" component={BrokerFrame} />
          <Route path="/projects/:project/*?" component={ProjectFrame} />
          {SCREENS.map(({ path, Screen }) => (
            <Route key={path} path={path} component={Screen} />
          ))}
          <Route component={NoScreen} />
        </Switch>
      </Suspense>
    </ScreenFailure>
  );
}

applyTheme(storedTheme());
const root = document.getElementById('console');
if (root)
  void languageOf(firstLanguage()).then((first) =>
    createRoot(root).render(
      <ServiceContext.Provider value={OWN_SERVICE}>
        <ViewStoreContext.Provider value={storedViews}>
          <Console first={first} />
        </ViewStoreContext.Provider>
      </ServiceContext.Provider>,
    ),
  );
