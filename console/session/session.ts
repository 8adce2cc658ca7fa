import { addressOf } from '../graph/addresses.ts';
import { ask, askWithoutSession } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import { RefusedError } from '../graph/refused.ts';
import { VIEWER, type Viewer } from './viewer.ts';

const LOGIN = graphql(`mutation Login($input: LoginInput!) { login(input: $input) { token } }`);
const COMPLETE = graphql(`mutation CompleteSignIn($input: CompleteSignInInput!) {
  completeSignIn(input: $input) { token }
}`);

const ACCEPT = graphql(`mutation AcceptInvitation($input: AcceptInvitationInput!) {
  acceptInvitation(input: $input) { token }
}`);

/** The person whose session the browser has; `null`: the sign-in is missing. */
export async function currentViewer(): Promise<Viewer | null> {
  const { data, error } = await ask(VIEWER, {});
  if (data) {
    const { sessions, ...viewer } = data.viewer;
    return { ...viewer, sessionId: sessions.find(({ isCurrent }) => isCurrent)?.id ?? '' };
  }
  if (error?.code !== 'UNAUTHORIZED') throw error;
  // The cookie stays: a deletion could arrive after a sign-in in another tab, and delete the cookie of the new session.
  return null;
}

/** Errors: RefusedError; SECOND_FACTOR_REQUIRED if a code is missing. */
export async function signIn(email: string, password: string, code: string | null): Promise<void> {
  const { data, error } = await askWithoutSession(LOGIN, {
    input: { email, password, ...(code !== null && { code }) },
  });
  if (data === null) throw error;
  await open(data.login.token);
}

/** Completes a sign-in at the OpenID provider. */
export async function completeSignIn(code: string, verifier: string): Promise<void> {
  const { data, error } = await askWithoutSession(COMPLETE, { input: { code, verifier } });
  if (data === null) throw error;
  await open(data.completeSignIn.token);
}

/** Sets the first password of an invited person. */
export async function acceptInvitation(secret: string, password: string): Promise<void> {
  const { data, error } = await askWithoutSession(ACCEPT, { input: { secret, password } });
  if (data === null) throw error;
  await open(data.acceptInvitation.token);
}

async function open(token: string): Promise<void> {
  await cookie('POST', token);
  tabs.postMessage('signed in');
}

export async function signOut(): Promise<void> {
  await cookie('DELETE');
  tabs.postMessage('signed out');
}

/** All tabs of this browser share the session. */
const tabs = new BroadcastChannel('brokergraph-session');

/** Calls `listener` when another tab has signed in or out. */
export const onOtherTab = (listener: () => void): void => {
  tabs.onmessage = listener;
};

async function cookie(method: 'POST' | 'DELETE', token?: string): Promise<void> {
  const response = await fetch(addressOf('auth/session'), {
    method,
    ...(token !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    }),
  });
  if (!response.ok) {
    const { message, code } = await response.json();
    throw new RefusedError(message, code, { requestId: response.headers.get('x-request-id') });
  }
}
