"""The main job: how robust is the model that a user already has, on the user's own table?"""
