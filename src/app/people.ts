import { AuditService } from '../domains/audit/audit-service.ts';
import { SignIn } from '../domains/sign-in/sign-in.ts';
import { TokenService } from '../domains/tokens/token-service.ts';
import { OrganisationService } from '../domains/users/organisation-service.ts';
import { OwnershipLimit } from '../domains/users/ownership-limit.ts';
import { UserService } from '../domains/users/user-service.ts';
import type { Foundation } from './foundation.ts';

/** Who uses the service and what they did: users, organisations, signing in, tokens, and the audit log. */
export async function openPeople(foundation: Foundation) {
  const { config, log, closers, storage, sealer, caches } = foundation;
  const { dataDir, auditRetentionDays: retentionDays } = config;
  const { db, changes } = storage;
  const audit = closers.keep(new AuditService({ db, sealer, dataDir, retentionDays, ...caches, log }));
  await audit.start();
  const signIn = new SignIn({ ...foundation, audit, projects: caches.projects });
  const users = new UserService({ db, changes, signInMethods: signIn.methods });
  const ownership = new OwnershipLimit({ db, limit: config.maxProjectsPerUser });
  const organisations = new OrganisationService({ db, changes, users, ownership });
  const tokens = new TokenService({ db, changes });
  return { audit, signIn, users, ownership, organisations, tokens };
}
