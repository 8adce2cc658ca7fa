import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/database.ts';
import { bearer, ROOT } from '../../support/service.ts';

/** The product as its users run it, in a process whose memory can be looked at (Linux). */
export interface ServiceProcess {
  readonly url: string;
  /** Session token of the root administrator. */
  readonly root: string;
  /** Id of a project for brokers. */
  readonly projectId: string;
  /** Adds a broker and waits until it is connected; its id. */
  addBroker(url: string): Promise<string>;
  /** Resident memory, MB. */
  rss(): number;
}

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

export async function startServiceProcess(): Promise<ServiceProcess> {
  const child = spawn(process.execPath, [main, 'serve'], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      DATA_DIR: temporaryFolder(),
      EMBEDDED_BROKER: 'off',
      ROOT_EMAIL: ROOT.email,
      ROOT_PASSWORD: ROOT.password,
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const message = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (/Brokergraph is ready[\s\S]*\n\n/.test(text)) resolve(text);
    });
    child.once('exit', () => reject(new Error(`The service did not start: ${text}`)));
  });
  const url = /GraphQL +(\S+)\/graphql/.exec(message)?.[1] ?? '';
  const graphql = async (query: string, variables: object, token: string | null) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(token) },
      body: JSON.stringify({ query, variables }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: tests read what they asked for.
    const { data, errors } = (await response.json()) as any;
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const login = await graphql(
    'mutation ($input: LoginInput!) { login(input: $input) { token } }',
    { input: ROOT },
    null,
  );
  const root = login.login.token as string;
  const { createProject } = await graphql(
    'mutation { createProject(input: { name: "Test" }) { project { id } } }',
    {},
    root,
  );
  const projectId = createProject.project.id as string;
  return {
    url,
    root,
    projectId,
    rss: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024,
    addBroker: async (brokerUrl) => {
      const response = await fetch(`${url}/api/projects/${projectId}/brokers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(root) },
        body: JSON.stringify({ name: 'scripted', url: brokerUrl }),
      });
      const { id } = (await response.json()) as { readonly id: string };
      const isConnected = async () =>
        (await graphql('query ($id: ID!) { broker(id: $id) { isConnected } }', { id }, root)).broker.isConnected;
      // Another process: it is asked until it says so.
      while (!(await isConnected()));
      return id;
    },
  };
}
