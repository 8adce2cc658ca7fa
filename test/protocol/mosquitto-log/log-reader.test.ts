import { expect, test } from 'vitest';
import { END_PATTERNS } from '../../../src/protocol/mosquitto-log/client-patterns.ts';
import { dialectOf } from '../../../src/protocol/mosquitto-log/log-dialect.ts';
import { LogReader } from '../../../src/protocol/mosquitto-log/log-reader.ts';
import { CAUSE_PATTERNS, DENIED_PATTERNS, OTHER_PATTERNS } from '../../../src/protocol/mosquitto-log/other-patterns.ts';
import { RECORDED_VERSIONS, readRecording } from './recordings.ts';

const none = () => false;

function readerOf(version: string | null) {
  const reader = new LogReader();
  if (version !== null) reader.version = version;
  const read = (text: string, level = 'N') => reader.read(level, Buffer.from(`1700000000: ${text}`), none);
  return { reader, read };
}

test('each pattern matches its example', () => {
  for (const { pattern, example } of [...END_PATTERNS, ...CAUSE_PATTERNS, ...DENIED_PATTERNS, ...OTHER_PATTERNS])
    expect(pattern.test(example), example).toBe(true);
});

test.each(RECORDED_VERSIONS)(
  'every line that Mosquitto %s wrote is understood in the wording of its version',
  (name) => {
    const { version, scenarios } = readRecording(name);
    const { reader, read } = readerOf(version);
    for (const { log } of scenarios) for (const [level, text] of log) read(text, level);
    expect(reader.unread.examples).toEqual([]);
    expect(reader.dialect).toBe(dialectOf(version));
  },
);

test.each([
  ['I', 'Invalid PUBLISH (QoS=0 and DUP=1) from dev-5, disconnecting.', 'CAUSE'],
  ['I', 'Protocol error from 127.0.0.1:5 CONNECT with missing clientid string.', 'CAUSE'],
  ['I', '     or attempted to continue authentication when no authentication in progress.', 'CAUSE'],
  ['N', 'Dropping too large outgoing PUBLISH for dev-5 (120 bytes)', 'OTHER'],
  ['N', 'Dropping too large outgoing PUBLISH (120 bytes)', 'OTHER'],
  ['W', 'Reused message ID 7 from dev-5 detected. Clearing from storage.', 'OTHER'],
  ['N', 'ACL denying access to client with dangerous username "a/b"', 'OTHER'],
  [
    'W',
    'Unable to accept new connection, system socket count has been exceeded. Try increasing "ulimit -n" or equivalent.',
    'OTHER',
  ],
  ['N', 'Bridge connection edge-1 has exceeded idle timeout, disconnecting.', 'OTHER'],
  ['I', 'Bridge edge-1 connection was stable enough, resetting backoff', 'OTHER'],
  ['E', "Error when reloading certificate 'a.crt' or key 'a.key'.", 'OTHER'],
  ['E', 'Error saving in-memory database, unable to open mosquitto.db for writing.', 'OTHER'],
  [
    'W',
    "The 'port' option is now deprecated and will be removed in a future version. Please use 'listener' instead.",
    'OTHER',
  ],
  ['N', 'keepalive interval too low, using 5 seconds.', 'OTHER'],
  ['I', 'Restored 5 retained messages', 'OTHER'],
  ['I', ' ├── Username/password checking enabled.', 'OTHER'],
])('a line that every version may write is understood (%s "%s")', (level, text, kind) => {
  for (const version of RECORDED_VERSIONS.map((name) => readRecording(name).version)) {
    const { reader, read } = readerOf(version);
    expect(read(text, level)).toMatchObject({ kind });
    expect(reader.unread.count).toBe(0);
  }
});

test('versions have the wording that they log', () => {
  expect(['2.0.0', '2.0.12', '2.0.13', '2.0.22', '2.1.0', '2.1.1', '2.1.12'].map(dialectOf)).toEqual([
    '2.0.0',
    '2.0.0',
    '2.0.13',
    '2.0.13',
    '2.1.0',
    '2.1.1',
    '2.1.1',
  ]);
  expect(['mosquitto version 2.2.0', '12.0.1', '2.10.1', '1.6.9', ''].map(dialectOf)).toEqual(Array(5).fill(null));
});

test('a version that logs lines of another one is not trusted any longer', () => {
  const { reader, read } = readerOf('mosquitto version 2.1.2');
  expect(read('Client a closed its connection.')).toMatchObject({ ends: 'UNCERTAIN' });
  expect([reader.dialect, reader.unread.count]).toEqual([null, 0]);
});

test('lines that no pattern knows are counted, with three different examples without secrets', () => {
  const { reader, read } = readerOf('mosquitto version 2.1.2');
  read("Client a\u0007\u2028 joined from 10.0.0.1, u'tom's secret'", 'N');
  read('Quota of plugin 1 at 10%', 'I');
  read('Quota of plugin 2 at 20%', 'I');
  read('Fetched https://tom:pw1@example.com with password=pw2 and token: pw3', 'W');
  for (let n = 0; n < 100; n += 1) read(`Another ${'x'.repeat(n)}`, 'I');
  expect(reader.unread.count).toBe(104);
  expect(reader.unread.examples).toEqual([
    "Client a\\u0007\\u2028 joined from 10.0.0.1, u'***'",
    'Quota of plugin 1 at 10%',
    'Fetched https://***@example.com with password=*** and token: ***',
  ]);
});

test('a line that is not understood may be about a client if it names one, or if the version is not known', () => {
  const mayBeOfClient = (version: string | null, text: string, level = 'N') => {
    const { reader, read } = readerOf(version);
    read(text, level);
    return reader.unread.hasClients;
  };
  expect(mayBeOfClient('mosquitto version 2.0.22', 'Client a has left.')).toBe(true);
  expect(mayBeOfClient('mosquitto version 2.0.22', 'at noon: Client a has left.')).toBe(true);
  expect(mayBeOfClient('mosquitto version 2.0.22', 'Plugin x has 7 rows')).toBe(false);
  expect(mayBeOfClient('mosquitto version 2.2.0', 'Plugin x has 7 rows')).toBe(true);
  expect(mayBeOfClient('mosquitto version 2.0.22', 'Client x', 'M/subscribe')).toBe(false);
  const { reader, read } = readerOf(null);
  read('a has left');
  expect(reader.unread.hasClients).toBe(false);
  reader.version = 'mosquitto version 2.2.0';
  expect(reader.unread.hasClients).toBe(true);
  reader.version = 'mosquitto version 2.1.2';
  expect(reader.unread.count).toBe(0);
});
