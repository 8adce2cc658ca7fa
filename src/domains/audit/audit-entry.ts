import { newId } from '../../platform/ids.ts';
import type { UnchainedEntry } from './audit-chain.ts';
import { type AuditFacts, SERVICE_ACTOR } from './audit-event.ts';
import { withoutOwnSecrets } from './secret-masking.ts';

/** Maximum length of texts that callers choose. Longer ones are truncated. */
export const MAX_NAME = 300;

/** Creates an entry. `before` and `after` must contain no secrets. */
export function entryOf({ operation, actor = SERVICE_ACTOR, target = null, ...facts }: AuditFacts): UnchainedEntry {
  return {
    id: newId('auditEvent'),
    at: new Date(),
    actorKind: actor.kind,
    actorId: actor.id,
    actorName: plain(actor.name),
    actorIssuer: plain(actor.issuer),
    address: plain(facts.address) ?? '',
    requestId: plain(facts.requestId) ?? '',
    via: facts.via ?? 'SERVICE',
    operation,
    projectId: facts.projectId ?? null,
    brokerId: facts.brokerId ?? null,
    targetKind: plain(target?.kind),
    // Callers may send a secret by mistake where its id belongs.
    targetId: plain(target?.id == null ? null : withoutOwnSecrets(target.id)),
    before: jsonOf(facts.before),
    after: jsonOf(facts.after),
    result: facts.result,
    code: facts.code ?? null,
  };
}

const jsonOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value);

/** Replaces U+0000 and lone surrogates, which PostgreSQL refuses. */
function plain(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  return Buffer.from(text.slice(0, MAX_NAME)).toString().replaceAll('\0', '\ufffd');
}
