import type { ProjectRole } from '../../../src/platform/auth/viewer.ts';
import { CALLERS, type Caller, type CallerName } from './rights-model.ts';
import type { World } from './rights-world.ts';

/** The credentials of a caller in a world; `null`: none. */
export async function credentialsOf(name: CallerName, world: World): Promise<string | null> {
  const { kind, role, isRoot, isElsewhere }: Caller = CALLERS[name];
  if (isRoot) return anotherRoot(world);
  if (kind === 'NOBODY') return null;
  if (kind === 'PERSON') return (await world.person(role ?? null)).token;
  const token = await newToken(world, role ?? 'ADMIN', isElsewhere ? [await otherBroker(world)] : null);
  if (name === 'expiredToken') {
    await world.storage.db.projectToken.update({ where: { id: token.id }, data: { validUntil: new Date(0) } });
  }
  if (name === 'revokedToken') await world.services.tokens.revoke(token.id);
  return token.secret;
}

/** Not the one of the world, whose session is needed until the end. */
async function anotherRoot({ person, services }: World): Promise<string> {
  const { email, token } = await person(null);
  await services.users.setRootAdmin(email, true);
  return token;
}

async function newToken({ services, projectId }: World, role: ProjectRole, brokerIds: readonly string[] | null) {
  const { token, secret } = await services.tokens.issue({ projectId, name: 'caller', role, brokerIds }, 'a test');
  return { id: token.id, secret };
}

async function otherBroker({ rest, projectId, root }: World): Promise<string> {
  const entry = { name: 'elsewhere', url: 'mqtt://127.0.0.1:1' };
  return (await rest('POST', `/api/projects/${projectId}/brokers`, root, entry)).body.id;
}
