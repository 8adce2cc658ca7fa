import { isInputObjectType, isInterfaceType, isObjectType } from 'graphql';
import { expect, test } from 'vitest';
import { schema } from '../../../src/app/schema.ts';

/**
 * A boolean reads as a claim about its object, in output as in the input that sets it: `isRetained`, `hasTls`,
 * `viewerCanDelete`, `requiresCertificate`, `metricsEnabled`. Others are exceptions with a reason.
 */
const CLAIM = /^(is|has|can|was|viewerCan|allows|reports|requires|stores|binds)[A-Z]|Enabled$/;

const because = (reason: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, reason]));

const EXCEPTIONS: Readonly<Record<string, string>> = {
  ...because('the name in the MQTT specification', 'cleanSession', 'noLocal', 'retain', 'retainAsPublished'),
  ...because('a setting in the imperative, as `deleteBranchOnMerge` of GitHub', 'autoRepair', 'verifyCaCert'),
  ...because('a setting in the imperative, with the name in the control API of streams', 'persist', 'process'),
  ...because(
    'an option of one mutation',
    'adopt',
    'discardUnreadable',
    'discardWill',
    'dryRun',
    'fastest',
    'force',
    'purge',
    'reverse',
  ),
};

/** The access control of brokers follows the names of Mosquitto's dynamic security. */
const ACCESS_CONTROL =
  /^(Add|Create|Delete|Put|Remove|RestD|Set|Update)?(Access|Account|Acl|AnonymousGroup|DefaultAcl|efaultAcl)|^(BlastRadius|Grantee)$/;

const booleans = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type) || isInterfaceType(type) || isInputObjectType(type))
  .filter(({ name }) => !name.startsWith('__') && !ACCESS_CONTROL.test(name))
  .flatMap((type) =>
    Object.values(type.getFields())
      .filter((field) => /^\[?Boolean\b/.test(String(field.type)))
      .map(({ name }) => ({ type: type.name, name })),
  );

test('each boolean reads as a claim, or is an exception with a reason', () => {
  expect(booleans.length).toBeGreaterThan(100);
  const others = booleans.filter(({ name }) => !CLAIM.test(name) && EXCEPTIONS[name] === undefined);
  expect(others.map(({ type, name }) => `${type}.${name}`)).toEqual([]);
});

test('each exception is still necessary', () => {
  const names = new Set(booleans.map(({ name }) => name));
  expect(Object.keys(EXCEPTIONS).filter((name) => !names.has(name) || CLAIM.test(name))).toEqual([]);
});
