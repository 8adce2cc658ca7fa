import { catalogue } from '../texts/texts.ts';
import { accessTexts } from './texts.ts';

export const passwordsTexts = catalogue(
  'access/passwords',
  {
    age: 'Age of the password',
    anyAge: 'all',
    olderThan: 'older than {days} days, or unknown',
    setAt: 'Password set',
    unknownAge: 'unknown',
    passwordsSince:
      'What this service set, as far as the audit goes back: {time}. Another client of the broker may have set a newer password.',
    unknownMeans:
      'Unknown: set earlier, by another client of the broker, or copied with the account from another broker.',
    parts:
      '{count} entries of the audit do not say which of their changes were made, so an age that is shown as unknown or older may be younger.',
    noOldPassword: 'No account has such an old password.',
    broker: 'Broker',
    furtherAccounts: '{count} further {count:account|accounts} in its own list',
  },
  accessTexts,
);
