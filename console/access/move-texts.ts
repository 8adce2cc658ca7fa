import { catalogue } from '../texts/texts.ts';
import { accessTexts } from './texts.ts';

export const moveTexts = catalogue(
  'access/move',
  {
    choose: 'Choose',
    chooseOf: 'Choose {name}',
    chooseNone: 'Clear the selection',
    choosePage: 'All of this page',
    chosen: '{count} chosen',
    move: 'Move to another broker',
    moveTitle: 'Move accounts to another broker: {count}',
    moveMeans:
      'First they are copied with their groups and roles, and this broker stays as it is. Let the devices connect there, then delete the accounts here.',
    toBroker: 'Broker that gets the accounts',
    chooseBroker: 'choose a broker',
    noBroker: 'The project has no other broker whose access control you may change.',
    keepsPasswords: 'Accounts that keep their password: {count}',
    newPasswords: 'Accounts that get a new, generated password, which is shown once after the copy: {count}',
    copy: 'Copy the accounts',
    copied: 'The accounts are on {broker}',
    savePasswords: 'Save the new passwords now. They are not shown again.',
    passwordsOf: 'New passwords at {broker}',
    noPasswords: 'These accounts have no password, so no client can connect with them: {names}',
    deleteHere: 'Delete the accounts here',
    deleteTitle: 'Delete accounts of this broker: {count}',
  },
  accessTexts,
);
