import { Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Route, Router, Switch } from 'wouter';
import { BrokerFrame } from './broker/broker-frame.tsx';
import { RefusedError } from './graph/refused.ts';
import { SCREENS } from './screens.tsx';
import { currentViewer, onSignedOut, signOut, type Viewer, ViewerContext } from './session/session.ts';
import { SignIn } from './session/sign-in.tsx';
import { firstLanguage, Language, storeLanguage } from './texts/texts.ts';
import { Frame } from './ui/frame.tsx';
import { useScreenLocation } from './ui/hash-location.ts';
import { NoticeBoard } from './ui/notices.tsx';
import { Problem } from './ui/problem.tsx';
import './ui/style.css';

const RETRY_MS = 2_000;

function Console() {
  const [language, setLanguage] = useState(firstLanguage);
  /** `undefined` until it is known. */
  const [viewer, setViewer] = useState<Viewer | null | undefined>(undefined);
  const [error, setError] = useState<RefusedError | null>(null);
  const look = async () => {
    try {
      setViewer(await currentViewer());
      setError(null);
    } catch (reason) {
      setError(reason instanceof RefusedError ? reason : new RefusedError(String(reason), 'UNREACHABLE'));
      setTimeout(() => void look(), RETRY_MS);
    }
  };
  useEffect(() => {
    onSignedOut(() => location.reload());
    void look();
  }, []);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const choose = (chosen: string) => {
    storeLanguage(chosen);
    setLanguage(chosen);
  };
  const leave = async () => {
    await signOut();
    location.reload();
  };
  return (
    <Language.Provider value={language}>
      {viewer === undefined && <Problem error={error} />}
      {viewer === null && <SignIn onSignedIn={() => void look()} />}
      {viewer && (
        <ViewerContext.Provider value={viewer}>
          <Router hook={useScreenLocation}>
            <Frame language={language} onLanguage={choose} onSignOut={() => void leave()}>
              <NoticeBoard>
                <Suspense fallback={<Problem error={null} />}>
                  <Switch>
                    <Route path="/brokers/:broker/*?" component={BrokerFrame} />
                    {SCREENS.map(({ path, Screen }) => (
                      <Route key={path} path={path} component={Screen} />
                    ))}
                  </Switch>
                </Suspense>
              </NoticeBoard>
            </Frame>
          </Router>
        </ViewerContext.Provider>
      )}
    </Language.Provider>
  );
}

const root = document.getElementById('console');
if (root) createRoot(root).render(<Console />);
