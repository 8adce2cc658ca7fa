import { catalogue } from '../texts/texts.ts';

export const serviceTexts = catalogue('service', {
  forRootAdministrators: 'Only root administrators may see the processes of the service.',
  processes: 'Processes',
  process: 'Process',
  isSelf: 'serves this page',
  version: 'Version',
  role: 'Tasks',
  ALL: 'requests and brokers',
  API: 'requests',
  WORKER: 'brokers',
  startedAt: 'Started',
  brokers: 'Brokers',
  received: 'Messages received/s',
  RUNNING: 'running',
  WAITING: 'gives its brokers away',
  UNREACHABLE: 'without database',
  drainOf: 'Move the brokers of {host} to other processes',
  drain: 'Move brokers',
  drainMeans:
    'Streams and bridges of {count} {count:broker end|brokers end} there when messages in progress are done, and continue in other processes. The process serves requests as before, and gets no brokers until you end this.',
  undrainOf: 'Give brokers to {host} again',
  secrets: 'Secrets',
  secretsMean:
    'Passwords, keys and tokens of brokers are stored encrypted. A rotation encrypts all of them with the current key, and states when the previous key can be removed.',
  rotate: 'Rotate secrets',
  rotateMeans:
    'All stored secrets are encrypted again. A file secret.key is replaced by a new one. Back up the new key.',
  resealed: 'Encrypted again',
  removable: 'Can be removed now',
  unreadable: 'Secrets that no key opens: {count}',
});
