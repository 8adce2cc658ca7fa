import { pbkdf2Sync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { topicFilterProblem } from '../../../../src/data-plane/broker/connecting/topic-rules.ts';
import type { AccessPolicy } from '../../../../src/protocol/apis/access-control/access-model.ts';
import { ADMIN, mosquittoProgram, sinceVersion, startMosquitto } from '../../../support/mosquitto.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { mosquittoDialect } from '../dialects.ts';
import { EVERYTHING, lostSubscription, PASSWORD, type Target } from './differential.ts';

/** Mosquitto, given each policy as its file, at a start. Sessions survive by its persistence. */
export async function mosquittoTarget(): Promise<Target> {
  const folder = temporaryFolder();
  const file = join(folder, 'dynamic-security.json');
  writeFileSync(file, fileOf(null));
  const mosquitto = await startMosquitto({
    access: 'anonymous',
    lines: [
      `plugin ${mosquittoProgram().plugin}`,
      `plugin_opt_config_file ${file}`,
      'persistence true',
      `persistence_location ${folder}/`,
    ],
  });
  const isTolerant = sinceVersion({ '2.0.0': true, '2.0.12': false });
  return {
    name: 'Mosquitto',
    dialect: mosquittoDialect(),
    protocolVersion: 5,
    port: mosquitto.port,
    admin: ADMIN,
    async load(policy) {
      await mosquitto.stop();
      writeFileSync(file, fileOf(policy));
      await mosquitto.start();
    },
    subscriptionsOf: async () => [],
    excuse(check, policy) {
      if (isTolerant) return null;
      if (topicFilterProblem(check.topic) !== null) return 'an invalid share name ends the connection';
      return lostSubscription(check, policy, mosquittoDialect());
    },
  };
}

const SALT = Buffer.alloc(12, 7);
/** As few rounds as Mosquitto takes: passwords are not what is tested. */
const secretOf = (password: string) => ({
  salt: SALT.toString('base64'),
  iterations: 1,
  password: pbkdf2Sync(password, SALT, 1, 64, 'sha512').toString('base64'),
});

function fileOf(policy: AccessPolicy | null): string {
  const everything = [...EVERYTHING, '$CONTROL/#'].flatMap((topic) =>
    ['publishClientSend', 'publishClientReceive', 'subscribePattern'].map((acltype) => ({
      acltype,
      topic,
      allow: true,
    })),
  );
  const rolesOf = (roles: readonly { name: string; priority: number }[]) =>
    roles.map(({ name, priority }) => ({ rolename: name, priority }));
  const clients = [...(policy?.clients.values() ?? [])];
  return JSON.stringify({
    defaultACLAccess: policy?.defaultAcl,
    clients: [
      { username: ADMIN.username, ...secretOf(ADMIN.password), roles: [{ rolename: 'the admin' }] },
      ...clients.map(({ username, clientId, disabled, roles }) => ({
        username,
        ...(clientId === null ? {} : { clientid: clientId }),
        ...(disabled ? { disabled } : {}),
        ...secretOf(PASSWORD),
        roles: rolesOf(roles),
      })),
    ],
    groups: [...(policy?.groups.values() ?? [])].map(({ groupname, roles }) => ({
      groupname,
      roles: rolesOf(roles),
      clients: clients.flatMap(({ username, groups }) =>
        groups.filter(({ name }) => name === groupname).map(({ priority }) => ({ username, priority })),
      ),
    })),
    roles: [
      { rolename: 'the admin', acls: everything },
      ...[...(policy?.roles.values() ?? [])].map(({ rolename, allowWildcardSubs, acls }) => ({
        rolename,
        allowwildcardsubs: allowWildcardSubs !== false,
        acls: acls.map(({ aclType, topic, priority, allow }) => ({ acltype: aclType, topic, priority, allow })),
      })),
    ],
    ...(policy?.anonymousGroup == null ? {} : { anonymousGroup: policy.anonymousGroup }),
  });
}
