import { type Logger, pino } from 'pino';
import type { TestService } from '../../support/service.ts';

const CREATE_RULES =
  'mutation ($input: CreateSignInRulesInput!) { createSignInRules(input: $input) { rules { id provider claimPath pattern role } } }';

export interface LoggedLine {
  readonly level: number;
  readonly msg: string;
  readonly reason?: string;
  readonly error?: string;
}

/** A log whose lines can be read. */
export function keptLog(): { readonly log: Logger; readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  return { lines, log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
}

export async function addRule(
  service: TestService,
  rule: Readonly<Record<string, string>>,
  token = service.root,
): Promise<string> {
  const input = { projectId: service.projectId, rules: [{ provider: 'SSO', role: 'EDITOR', ...rule }] };
  const { data, errors } = await service.graphql(CREATE_RULES, { input }, token);
  if (errors) throw new Error(JSON.stringify(errors));
  return data.createSignInRules.rules[0].id;
}

/** The role of a session in the service's project; null if the project is invisible; the error code if it has ended. */
export async function roleOf(service: TestService, token: string): Promise<string | null> {
  const query = 'query ($id: ID!) { project(id: $id) { viewerRole } }';
  const { data, errors } = await service.graphql(query, { id: service.projectId }, token);
  if (errors?.[0]?.extensions.code === 'UNAUTHORIZED') return 'UNAUTHORIZED';
  return data?.project?.viewerRole ?? null;
}

/** Asks the providers about everybody, now. */
export const checkNow = (service: TestService): Promise<void> => service.services.signIn.checks.run(0);
