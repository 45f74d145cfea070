/** Texts of Markdown of models, and of the dialog before a link in it is opened. */
export const markdown = {
  table: 'Table',
  image: 'image',
  linkTitle: 'Open a link',
  linkText: 'The answer has this address. It leads to another site:',
  openLink: 'Open',
  cancel: 'Cancel',
}
