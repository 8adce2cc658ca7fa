import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Route, Router, Switch } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { Fleet } from './fleet/fleet.tsx';
import { RefusedError } from './graph/refused.ts';
import { Refusals } from './refusals/refusals.tsx';
import { currentViewer, onSignedOut, signOut, type Viewer } from './session/session.ts';
import { SignIn } from './session/sign-in.tsx';
import { firstLanguage, Language, storeLanguage } from './texts/texts.ts';
import { Frame } from './ui/frame.tsx';
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
        <Router hook={useHashLocation}>
          <Frame viewer={viewer} language={language} onLanguage={choose} onSignOut={() => void leave()}>
            <Switch>
              <Route path="/refusals/:broker?" component={Refusals} />
              <Route component={Fleet} />
            </Switch>
          </Frame>
        </Router>
      )}
    </Language.Provider>
  );
}

const root = document.getElementById('console');
if (root) createRoot(root).render(<Console />);
