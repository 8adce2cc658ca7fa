import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { bearer } from './service.ts';

const READ = new URLSearchParams({ query: '{ viewer { user { email } } }' });

interface Failure {
  readonly method: string;
  readonly reason: string;
}

interface LoadOptions {
  /** Default: 4. */
  readonly clients?: number;
  /** Time between two requests of a client. Default: 0. */
  readonly pauseMs?: number;
}

/**
 * Clients that send requests one after another until `stop`: reads by GET, and by POST mutations that create projects
 * with different names.
 */
export class Load {
  readonly failures: Failure[] = [];
  /** Names of the projects of which the response said that they exist. */
  readonly created: string[] = [];
  readonly #url: string;
  readonly #token: string;
  readonly #pauseMs: number;
  readonly #clients: Promise<unknown>;
  #sent = 0;
  #done = 0;
  #stopped = false;

  constructor(url: string, token: string, { clients = 4, pauseMs = 0 }: LoadOptions = {}) {
    this.#url = url;
    this.#token = token;
    this.#pauseMs = pauseMs;
    this.#clients = Promise.all(Array.from({ length: clients }, () => this.#run()));
  }

  /** Resolves when `count` further requests are complete. */
  async more(count: number): Promise<void> {
    const wanted = this.#done + count;
    await expect.poll(() => this.#done, { timeout: 240_000 }).toBeGreaterThanOrEqual(wanted);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#clients;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const number = this.#sent++;
      const method = number % 2 === 0 ? 'GET' : 'POST';
      try {
        await (method === 'GET' ? this.#read() : this.#create(`project ${number}`));
      } catch (error) {
        this.failures.push({ method, reason: String(error) });
      }
      this.#done += 1;
      if (this.#pauseMs > 0) await delay(this.#pauseMs);
    }
  }

  async #read(): Promise<void> {
    const response = await fetch(`${this.#url}/graphql?${READ}`, { headers: bearer(this.#token) });
    const body = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${body}`);
  }

  async #create(name: string): Promise<void> {
    const query = 'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { name } } }';
    const response = await fetch(`${this.#url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(this.#token) },
      body: JSON.stringify({ query, variables: { input: { name } } }),
    });
    const body = await response.text();
    if (response.status !== 200 || JSON.parse(body).errors) throw new Error(`${response.status} ${body}`);
    this.created.push(name);
  }
}
