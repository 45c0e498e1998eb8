"""Why a function was traced or compiled again."""
